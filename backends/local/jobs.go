package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// manyJobs is the number of commands with leftovers from which on it is looked
// whether these still live.
const manyJobs = 32

// jobs are the commands that run, and what finished ones left behind.
type jobs struct {
	mu      sync.Mutex
	closed  bool
	next    int
	running map[int]context.CancelFunc
	active  sync.WaitGroup
	left    []leftover
	grace   time.Duration // once closed: of everything that is ended
}

// leftover is a finished command of which something lives.
type leftover struct {
	process process
	out     *sink
	end     bool // its processes end with the workspace
}

// begin counts a command that is about to run.
func (j *jobs) begin(cancel context.CancelFunc) (done func(), err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, os.ErrClosed
	}
	if j.running == nil {
		j.running = map[int]context.CancelFunc{}
	}
	id := j.next
	j.next++
	j.running[id] = cancel
	j.active.Add(1)
	return func() {
		j.mu.Lock()
		delete(j.running, id)
		j.mu.Unlock()
		j.active.Done()
	}, nil
}

// leave takes over what is left of a finished command: its pipe while something
// holds it, and its processes if they are to end with the workspace.
func (j *jobs) leave(p process, out *sink, end bool) {
	if !end {
		p.release()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var keep []leftover
	look := len(j.left) >= manyJobs // looking costs a walk through the process table
	for _, l := range j.left {
		switch {
		case !l.out.ended() || l.end && (!look || l.process.left()):
			keep = append(keep, l)
		case l.end:
			l.process.release()
		}
	}
	if end || !out.ended() {
		keep = append(keep, leftover{p, out, end})
	}
	j.left = keep
}

func (s *sink) ended() bool {
	select {
	case <-s.eof:
		return true
	default:
		return false
	}
}

// graceAt returns the grace of a command that asked for so much, and is ended now.
func (j *jobs) graceAt(grace time.Duration) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return min(grace, j.grace)
	}
	return grace
}

// close ends everything, all trees at once, and waits for it.
func (j *jobs) close(grace time.Duration) error {
	j.mu.Lock()
	j.closed, j.grace = true, grace
	for _, cancel := range j.running {
		cancel()
	}
	j.mu.Unlock()
	j.active.Wait()
	_, err := j.end(grace)
	return err
}

// end ends what finished commands left, all trees at once, and returns how many
// commands that was of.
func (j *jobs) end(grace time.Duration) (commands int, err error) {
	j.mu.Lock()
	left := j.left
	j.left = nil
	j.mu.Unlock()
	errs := make([]error, len(left))
	var wg sync.WaitGroup
	for i, l := range left {
		wg.Go(func() {
			if l.end {
				if r := l.process.terminate(grace); len(r.survivors) > 0 {
					errs[i] = fmt.Errorf("still running: %s", strings.Join(r.survivors, ", "))
				}
				l.process.release()
			}
			l.out.close()
		})
	}
	wg.Wait()
	return len(left), errors.Join(errs...)
}
