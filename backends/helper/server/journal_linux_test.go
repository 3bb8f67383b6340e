package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/wire"
)

// openJournal loads a journal as the process does that takes over a session.
func openJournal(t *testing.T, name string) *journal {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	j := &journal{}
	must(t, j.load(f))
	t.Cleanup(func() { _ = j.close() }) // it may be closed
	return j
}

func fate(t *testing.T, j *journal, change string) (wire.Fate, bool) {
	t.Helper()
	r, begun, err := j.ask(t.Context(), change)
	must(t, err)
	return r.Fate, begun != nil
}

// What is under way outlives the renewal of a journal that has grown large: else a
// change would be made twice (hazard MUTQ-06).
func TestMUTQ06JournalIsRenewedWithWhatIsUnderWay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, name)
	j.open("slow")
	must(t, j.begin(wire.Record{Change: "slow", Path: "/slow"}))
	last, peak := "", int64(0)
	for i := range 600 {
		last = fmt.Sprint("change ", i)
		r := wire.Record{Change: last, Path: strings.Repeat("/long", 800)}
		j.open(last)
		for _, step := range []func(){func() { must(t, j.begin(r)) }, func() { j.end(r, &wire.WriteReply{}, nil) }} {
			step()
			info, err := os.Stat(name)
			must(t, err)
			peak = max(peak, info.Size())
		}
	}
	if peak < maxJournalFile || peak > 2*maxJournalFile {
		t.Errorf("the file had %d bytes", peak)
	}
	must(t, j.close())
	next := openJournal(t, name)
	if f, begun := fate(t, next, "slow"); !begun {
		t.Errorf("what was under way has become %v", f)
	}
	if f, _ := fate(t, next, last); f != wire.FateDone {
		t.Errorf("the last change has become %v", f)
	}
	if f, _ := fate(t, next, "change 0"); f != wire.FateNever {
		t.Errorf("the first change has become %v, so that nothing was renewed", f)
	}
}

// A record that was broken off hides nothing that is written later.
func TestJournalGoesOnBehindABrokenRecord(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, name)
	must(t, j.begin(wire.Record{Change: "first", Path: "/f"}))
	must(t, j.begin(wire.Record{Change: "second", Path: "/f"}))
	must(t, j.close())
	whole, err := os.ReadFile(name)
	must(t, err)
	for _, broken := range [][]byte{whole[:len(whole)-3], append(append([]byte{}, whole[:len(whole)/2]...), "\xff\xff\xff\xff broken"...)} {
		must(t, os.WriteFile(name, broken, 0o600))
		j = openJournal(t, name)
		must(t, j.begin(wire.Record{Change: "third", Path: "/f"}))
		must(t, j.close())
		next := openJournal(t, name)
		for change, want := range map[string]bool{"first": true, "second": false, "third": true} {
			if _, begun := fate(t, next, change); begun != want {
				t.Errorf("%s is known: %v", change, begun)
			}
		}
	}
}
