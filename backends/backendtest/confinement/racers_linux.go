package confinement

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Lengths of a race: operations in the short form, and in the long one, which takes
// a minute at least.
type Lengths struct{ Short, Long int }

// Racer runs a race on a workspace that open opens on a folder of this machine, and
// closes with the test. It fails the test if nothing was ever done or refused: then
// nothing was shown.
func Racer(t *testing.T, n Lengths, open func(t *testing.T, root string) ops.Set) Report {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRace(base)
	if err != nil {
		t.Fatal(err)
	}
	count, long := n.Short, time.Duration(0)
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		count, long = n.Long, time.Minute
	}
	report, err := r.Run(t.Context(), open(t, r.Root), count, long)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d operations; outside went %d reads, %d writes, %d looks: %.1f %%; %s",
		report.Operations, len(report.Reads), len(report.Writes), len(report.Looks), report.Rate(), report.Seen)
	if report.Done == 0 || report.Refused == 0 {
		t.Error("the race showed nothing")
	}
	return report
}

// NoEscape fails the test for each operation that went outside.
func (r Report) NoEscape(t *testing.T) {
	t.Helper()
	r.NoContent(t)
	if len(r.Looks) > 0 {
		t.Errorf("outside: %q", r.Looks)
	}
}

// NoContent fails the test for each operation that brought content or names from
// outside, or changed something there.
func (r Report) NoContent(t *testing.T) {
	t.Helper()
	for _, what := range append(append([]string{}, r.Reads...), r.Writes...) {
		t.Error("outside: ", what)
	}
}

// Rate is the share of operations that went outside, in percent.
func (r Report) Rate() float64 {
	return 100 * float64(len(r.Reads)+len(r.Writes)+len(r.Looks)) / float64(r.Operations)
}
