package local

import "context"

// MaxAtOnce bounds the commands of a workspace that run at a time, and apart from them
// its reads, changes and searches (not its looks, of which searches are made): a batch of a thousand calls does not open a thousand
// files, and commands that wait for a file keep nobody from writing it. What comes on
// top waits for its turn.
const MaxAtOnce = 64

// gate lets so many through at a time as it has room for.
type gate chan struct{}

// enter waits for room until ctx ends; leave gives it back. Who is inside enters the
// same gate no second time: all could be waiting for each other.
func (g gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	default:
	}
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
