package tools

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// updateInterval is the shortest time between two progress updates.
const updateInterval = 100 * time.Millisecond

// shellOutput collects a command's output and reports progress. Collecting
// never waits for whoever listens: updates are made by a goroutine of their own,
// at most ten a second, from what is there then.
type shellOutput struct {
	mu    sync.Mutex
	acc   *textout.Accumulator
	dirty bool

	stop chan struct{}
	done chan struct{}
}

func newShellOutput(update tool.Update) *shellOutput {
	o := &shellOutput{acc: textout.NewAccumulator(textout.Limits{}), stop: make(chan struct{}), done: make(chan struct{})}
	if update == nil {
		close(o.done)
		return o
	}
	go o.report(update)
	return o
}

func (o *shellOutput) chunk(c ops.Chunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.Dropped > 0 {
		o.acc.Drop(c.Dropped, c.DroppedLines)
	}
	_, _ = o.acc.Write(c.Data) // never fails
	o.dirty = true
}

func (o *shellOutput) report(update tool.Update) {
	defer close(o.done)
	ticker := time.NewTicker(updateInterval)
	defer ticker.Stop()
	for last := false; !last; {
		select {
		case <-ticker.C:
		case <-o.stop:
			last = true
		}
		o.mu.Lock()
		dirty, snap := o.dirty, textout.Snapshot{}
		if dirty {
			snap, o.dirty = o.acc.Snapshot(), false
		}
		o.mu.Unlock()
		if dirty {
			update(tool.Result{
				Content: []tool.Content{tool.Text{Text: snap.Text}},
				Details: ShellDetails{TotalLines: snap.TotalLines, TotalBytes: snap.TotalBytes, Truncated: snap.Truncated},
			})
		}
	}
}

// finish delivers the last update and returns the final state.
func (o *shellOutput) finish() textout.Snapshot {
	o.mu.Lock()
	o.acc.Flush()
	o.mu.Unlock()
	close(o.stop)
	<-o.done
	return o.acc.Snapshot()
}

// outputText is what the model sees of a command's output: its end, and in
// brackets what is missing and what still runs.
func outputText(snap textout.Snapshot, exit ops.Exit, policy ops.Background, otherShell string) string {
	text := strings.TrimRight(snap.Text, "\n")
	if snap.TotalBytes == 0 || text == "" {
		text = "(no output)"
	}
	var notes []string
	if snap.Truncated {
		notes = append(notes, truncationNote(snap, exit))
	}
	if exit.Background {
		until := "they are ended when the session ends"
		if policy == ops.BackgroundKeep {
			until = "they go on after the session has ended"
		}
		notes = append(notes, "Background processes are still running; "+until)
	}
	if otherShell != "" {
		notes = append(notes, fmt.Sprintf("There is no bash on this target; %s runs the commands", otherShell))
	}
	return bracket(text, notes)
}

func truncationNote(snap textout.Snapshot, exit ops.Exit) string {
	var b strings.Builder
	switch {
	case snap.PartialLine:
		fmt.Fprintf(&b, "Showing the last %s of line %d", textout.FormatSize(int64(len(snap.Text))), snap.LastLine)
	case snap.ByBytes:
		fmt.Fprintf(&b, "Showing lines %d-%d of %d (%s limit)", snap.FirstLine, snap.LastLine, snap.LastLine,
			textout.FormatSize(textout.DefaultMaxBytes))
	default:
		fmt.Fprintf(&b, "Showing lines %d-%d of %d", snap.FirstLine, snap.LastLine, snap.LastLine)
	}
	if exit.SpillPath == "" {
		b.WriteString(". The rest was not kept")
		return b.String()
	}
	fmt.Fprintf(&b, ". Full output: %s", show(exit.SpillPath))
	if exit.SpillCut {
		fmt.Fprintf(&b, " (cut to %s)", textout.FormatSize(exit.SpillSize))
	}
	return b.String()
}
