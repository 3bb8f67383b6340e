package posix

import (
	"context"
	"time"
)

// standbyLead is how long before its deadline a command gets a shell that stands
// ready to end it.
const standbyLead = 2 * time.Second

// standby is a kill script that waits for its word. A new shell on the target costs
// round trips and the account's start-up files; begun ahead of a deadline, they are
// behind it when the deadline comes.
type standby struct {
	word   chan struct{} // closed to let it begin
	cancel context.CancelFunc
	done   chan struct{} // closed when report and err are valid
	report endReport
	err    error
}

// newStandby starts the kill script of a running command.
func (r *running) newStandby(ctx context.Context) *standby {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &standby{word: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.report, s.err = r.end(ctx, s.word)
	}()
	return s
}

// begin lets the script run and returns its report, within ctx.
func (s *standby) begin(ctx context.Context) (endReport, error) {
	defer s.cancel()
	close(s.word)
	select {
	case <-s.done:
	case <-ctx.Done():
		s.dismiss()
	}
	return s.report, s.err
}

// dismiss gives the script up and waits for that.
func (s *standby) dismiss() {
	s.cancel()
	<-s.done
}
