//go:build linux

package server

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper/wire"
)

// journal knows what became of the changes of a session, so that a client whose
// connection was lost learns the truth: those of this process from memory, those
// of one that was killed from its file. A change is known from the moment when
// its request was read.
type journal struct {
	mu      sync.Mutex
	file    *os.File // nil if there is none
	path    string   // of file
	size    int64
	entries map[string]*entry
	order   []string // of entries that have ended, oldest first
}

// What the journal remembers at most. A client asks right after its connection
// was lost, and has few changes under way.
const (
	maxEntries     = 256
	maxResult      = 256 << 10 // of a result in memory
	maxJournalFile = 1 << 20
	maxRenewed     = 32 // changes that have ended, in a file that is made anew
)

// entry is one change.
type entry struct {
	ended   chan struct{}
	begun   *wire.Record // of a process that was killed: what it was about to do
	result  []byte
	fail    *wire.Failure
	written []byte // its last record, as it is in the file
}

// open takes a change in. It reports false if its name was used before.
func (j *journal) open(change string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.entries == nil {
		j.entries = map[string]*entry{}
	}
	if j.entries[change] != nil {
		return false
	}
	j.entries[change] = &entry{ended: make(chan struct{})}
	return true
}

// begin records what is about to happen. Nothing may happen if it can't be.
func (j *journal) begin(r wire.Record) error { return j.append(r) }

// end records how a change ended.
func (j *journal) end(r wire.Record, result wire.Message, err error) {
	r.Ended = true
	if err != nil {
		r.Failure = wire.FailureOf(err)
	}
	_ = j.append(r) // this process still knows
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entries[r.Change]
	if e == nil {
		return
	}
	if e.fail = r.Failure; err == nil {
		if e.result = wire.Encode(result); len(e.result) > maxResult {
			e.result = briefly(r)
		}
	}
	close(e.ended)
	j.order = append(j.order, r.Change)
	for len(j.order) > maxEntries {
		delete(j.entries, j.order[0])
		j.order = j.order[1:]
	}
}

// ask waits until a change that is under way has ended, and returns what became
// of it.
func (j *journal) ask(ctx context.Context, change string) (wire.AskReply, *wire.Record, error) {
	j.mu.Lock()
	e := j.entries[change]
	j.mu.Unlock()
	if e == nil {
		return wire.AskReply{Fate: wire.FateNever}, nil, nil
	}
	if e.begun != nil {
		return wire.AskReply{Fate: wire.FateUnknown}, e.begun, nil
	}
	select {
	case <-e.ended:
	case <-ctx.Done():
		return wire.AskReply{}, nil, ctx.Err()
	}
	return wire.AskReply{Fate: wire.FateDone, Result: e.result, Failure: e.fail}, nil, nil
}

// settle records what was found out about a change of a process that was killed.
func (j *journal) settle(change string, r wire.AskReply) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.Fate == wire.FateNever {
		delete(j.entries, change) // it may be sent again
		return
	}
	e := &entry{ended: make(chan struct{}), result: r.Result, fail: r.Failure}
	close(e.ended)
	j.entries[change] = e
}

// append adds a record to the file. It is not synced: what is asked for is what
// happened when a process was killed, not when the machine went down.
func (j *journal) append(r wire.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	b := wire.Append(make([]byte, 4), &r)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4)) //nolint:gosec // a record is small
	if e := j.entries[r.Change]; e != nil {
		e.written = b
	}
	if j.size > maxJournalFile {
		return j.renew()
	}
	n, err := j.file.WriteAt(b, j.size)
	if err != nil {
		return err
	}
	j.size += int64(n)
	return nil
}

// renew puts a file in the place of one that has grown large: with what is under
// way, and the newest of what has ended. A process that is killed leaves the one
// or the other.
func (j *journal) renew() error {
	var b []byte
	past := j.order[max(0, len(j.order)-maxRenewed):]
	for _, change := range past {
		b = append(b, j.entries[change].written...)
	}
	for change, e := range j.entries {
		if !slices.Contains(j.order, change) {
			b = append(b, e.written...)
		}
	}
	next, err := os.OpenFile(j.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if _, err = next.Write(b); err == nil {
		err = os.Rename(j.path+".new", j.path)
	}
	if err != nil {
		_ = next.Close()
		return err
	}
	_ = j.file.Close() // nothing was left to be written
	j.file, j.size = next, int64(len(b))
	return nil
}

// load reads what a process that was killed has left.
func (j *journal) load(f *os.File) error {
	data, err := io.ReadAll(io.LimitReader(f, 2*maxJournalFile))
	if err != nil {
		return err
	}
	j.entries = map[string]*entry{}
	size := int64(0)
	for len(data) >= 4 {
		n := int64(binary.LittleEndian.Uint32(data))
		if n > int64(len(data)-4) {
			break // it was killed while it wrote this
		}
		var r wire.Record
		if err := wire.Decode(data[4:4+n], &r); err != nil {
			break
		}
		e := &entry{ended: make(chan struct{}), begun: &r, written: data[:4+n]}
		data = data[4+n:]
		size += 4 + n
		if r.Ended {
			e.begun, e.fail = nil, r.Failure
			if r.Failure == nil {
				e.result = briefly(r)
			}
			close(e.ended)
			j.order = append(j.order, r.Change)
		}
		j.entries[r.Change] = e
	}
	// What is broken is written over: nothing behind it could be read.
	j.file, j.path, j.size = f, f.Name(), size
	return f.Truncate(size)
}

// briefly is the result of a change as far as a record holds it.
func briefly(r wire.Record) []byte {
	if !r.Edit {
		return wire.Encode(&wire.WriteReply{Report: r.Report})
	}
	m := wire.EditReply{}
	m.Report.WriteReport, m.Report.Before, m.Report.After = r.Report, r.Hashes[0], r.Hashes[1]
	return wire.Encode(&m)
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}
