package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// result is a command that has ended, with what was delivered of its output.
type result struct {
	ops.Exit
	output []byte
	count  int64 // bytes delivered or counted as dropped
	lines  int64 // line feeds likewise
}

// exec runs a script in the workspace's folder; edits change the command.
func (w *Workspace) exec(ctx context.Context, script string, edits ...func(*ops.Command)) (result, error) {
	cmd := ops.Command{Script: script, Dir: w.at()}
	for _, edit := range edits {
		edit(&cmd)
	}
	var mu sync.Mutex // a broken backend may call from anywhere
	var r result
	exit, err := w.Set.Bash.Exec(ctx, cmd, func(c ops.Chunk) {
		mu.Lock()
		defer mu.Unlock()
		r.output = append(r.output, c.Data...)
		r.count += c.Dropped + int64(len(c.Data))
		r.lines += c.DroppedLines + int64(bytes.Count(c.Data, []byte("\n")))
	})
	mu.Lock()
	defer mu.Unlock()
	r.Exit = exit
	return result{Exit: exit, output: bytes.Clone(r.output), count: r.count, lines: r.lines}, err
}

// run is exec for a script that must end with code 0.
func (w *Workspace) run(ctx context.Context, script string, edits ...func(*ops.Command)) (result, error) {
	r, err := w.exec(ctx, script, edits...)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("exit code %d, output %.300q", r.Code, r.output)
	}
	return r, err
}

// prints demands that a script ends with code 0 and prints exactly this.
func (w *Workspace) prints(ctx context.Context, script, want string, edits ...func(*ops.Command)) error {
	r, err := w.run(ctx, script, edits...)
	if err != nil {
		return fmt.Errorf("%.60q: %w", script, err)
	}
	return sameBytes(fmt.Sprintf("output of %.60q", script), r.output, []byte(want))
}

func inDir(dir string) func(*ops.Command) { return func(c *ops.Command) { c.Dir = dir } }

// uniqueSeconds returns a time to sleep that no other process has.
func uniqueSeconds() string {
	return strconv.FormatInt(40_000_000+rand.Int64N(900_000_000), 10)
}

// ended waits a little until no process has arg among its arguments.
func (w *Workspace) ended(arg string, patience time.Duration) error {
	n := 0
	ok, err := until(patience, func() (bool, error) {
		var err error
		n, err = w.Fixture.ProcessesWith(arg)
		return n == 0, err
	})
	if err == nil && !ok {
		err = fmt.Errorf("%d processes still run", n)
	}
	return err
}

// lives waits until n processes have arg among their arguments.
func (w *Workspace) lives(arg string, n int) error {
	ok, err := until(20*time.Second, func() (bool, error) {
		got, err := w.Fixture.ProcessesWith(arg)
		return got >= n, err
	})
	if err == nil && !ok {
		err = fmt.Errorf("the %d processes of the script were never seen", n)
	}
	return err
}

// until asks every few milliseconds until the answer is yes or the time is up.
func until(limit time.Duration, ask func() (bool, error)) (bool, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if yes, err := ask(); yes || err != nil {
			return yes, err
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return false, nil
		}
	}
}
