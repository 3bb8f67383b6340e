package posix

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// endReport is what the kill script did.
type endReport struct {
	killed     int
	survivors  []string
	unverified string
}

// end ends every process with the marker, its session and its descendants, and
// removes the folder spillDir if it is not empty. It begins when hold is closed; nil
// means at once.
func (e *Engine) end(ctx context.Context, marker, group string, grace time.Duration, spillDir string, hold <-chan struct{}) (endReport, error) {
	p := e.core.probe
	step := time.Second
	if p.SleepFraction {
		step = 50 * time.Millisecond
	}
	naps := int((grace + step - 1) / step)
	r, err := e.free().call(ctx, request{script: "kill", args: []string{marker, group, strconv.Itoa(naps), spillDir}, limit: 1 << 20, hold: hold})
	if err != nil {
		return endReport{}, err
	}
	if _, err := r.failure(); err != nil {
		return endReport{}, err
	}
	var report endReport
	if len(r) > 0 && len(r[0].mark) == 2 && r[0].mark[0] == "killed" {
		report.killed, _ = strconv.Atoi(r[0].mark[1])
		for s := range strings.SplitSeq(string(r[0].data), "\x00") {
			if s != "" {
				report.survivors = append(report.survivors, s)
			}
		}
	}
	switch {
	case p.Proc:
	case p.ProcessList:
		report.unverified = "the target has no /proc: processes that left the command's group and lost their parent are not seen"
	default:
		report.unverified = "the target has neither /proc nor ps: only the command's process group was signalled"
	}
	return report, nil
}

// Close ends what finished commands of this connection left in the background, and
// commands that were lost with a connection if the target answers again, and removes
// the spill files. Engines from At share all this: close the last
// one only. Close is idempotent.
func (e *Engine) Close(ctx context.Context) error {
	c := e.core
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	background, lost, dir := c.background, c.lost, c.spillDir
	c.spills = map[string]ops.FileID{}
	c.mu.Unlock()
	if !background && !lost && dir == "" {
		return nil
	}
	report, err := e.end(ctx, "PIREMOTE_SESSION="+c.session, "", ops.DefaultGrace, dir, nil)
	if !background && dir == "" && ops.KindOf(err) == ops.KindUnavailable {
		return nil // that the outcome is unknown was said
	}
	if err != nil {
		return err
	}
	if len(report.survivors) > 0 {
		return e.transport(ops.KindOutcomeUnknown,
			e.label+": background processes could not be ended: "+strings.Join(report.survivors, ", "), nil)
	}
	return nil
}
