package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/piremote/piremote/agent/llm"
)

// Retry says how often an answer that failed on the way is asked for again. The
// failed answer ends its turn like any other and is then taken out of the
// conversation; nothing of it was executed, so no effect is repeated (hazard
// PROV-05).
type Retry struct {
	// Attempts is how many times in a row the model is asked again; 0 means 3,
	// less than 0 means never.
	Attempts int
	// Delay is the wait before the first new attempt, doubled for each further
	// one and spread by up to a quarter; 0 means 2 s. A provider that names a
	// longer wait is obeyed.
	Delay time.Duration
	// MaxDelay bounds both; 0 means 60 s. A provider that asks for more makes the
	// run fail at once, with the time in the error (hazard PROV-07).
	MaxDelay time.Duration
	// Notify is told before each wait; nil tells nobody.
	Notify func(RetryNotice)
}

// RetryNotice announces a new attempt.
type RetryNotice struct {
	Attempt  int // from 1
	Attempts int // at most
	Delay    time.Duration
	Err      error
}

// WithDefaults fills in what is zero.
func (o Retry) WithDefaults() Retry {
	if o.Attempts == 0 {
		o.Attempts = 3
	}
	if o.Delay <= 0 {
		o.Delay = 2 * time.Second
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = time.Minute
	}
	return o
}

// Backoff is how long to wait before a new attempt after so many failed before the
// present one: longer each time, spread, and at least what the provider asks for. o
// has its defaults.
func (o Retry) Backoff(failed int, failure *llm.Error) time.Duration {
	delay := min(o.Delay<<min(failed, 16), o.MaxDelay)
	delay += time.Duration(rand.Int64N(int64(delay)/4 + 1)) //nolint:gosec // it spreads load
	return max(delay, failure.RetryAfter)
}

// TooLong adds to a failure whose provider asks for a longer wait than a run waits
// that it does (hazard PROV-07); any other is returned as it is. o has its defaults.
func (o Retry) TooLong(err error) error {
	var failure *llm.Error
	if !errors.As(err, &failure) || failure.RetryAfter <= o.MaxDelay {
		return err
	}
	return fmt.Errorf("%w (the provider asks to wait %v, more than the %v that a run waits)", err, failure.RetryAfter.Round(time.Second), o.MaxDelay)
}

// retry waits for a new attempt after an answer that failed with cause, and
// removes that answer, which begins at message number from. It reports false if
// there is none: cause is final, attempts are used up, or the run has ended.
func (r *run) retry(cause *error, from int) bool {
	o := r.options.Retry.WithDefaults()
	var failure *llm.Error
	if r.ctx.Err() != nil || !errors.As(*cause, &failure) || !failure.Retryable() || r.retries >= o.Attempts {
		return false
	}
	if failure.RetryAfter > o.MaxDelay {
		*cause = o.TooLong(*cause)
		return false
	}
	delay := o.Backoff(r.retries, failure)
	r.retries++
	r.summary.Retries++
	if o.Notify != nil {
		notice := RetryNotice{r.retries, o.Attempts, delay, *cause}
		err := contain("Retry.Notify", func() error {
			o.Notify(notice)
			return nil
		})
		if err != nil {
			*cause = errors.Join(*cause, err)
			return false
		}
	}
	if !Wait(r.ctx, delay) {
		return false
	}
	r.mu.Lock()
	r.messages = r.messages[:from:from]
	r.mu.Unlock()
	return true
}

// Wait waits so long, and reports whether ctx has not ended before.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
