package match

import "context"

// emitter yields lines up to the limit.
type emitter struct {
	req     SearchRequest
	yield   func(SearchLine) bool
	matches int
	file    string // of the last match
	last    int    // line of the last match
	limited bool
	done    bool
}

// batch yields what a batch gives. It reports false when the search is over.
func (e *emitter) batch(ctx context.Context, b *batch, unreadable *int) bool {
	for {
		select {
		case c, ok := <-b.out:
			if !ok {
				return ctx.Err() == nil
			}
			for _, l := range c.lines {
				if ctx.Err() != nil || !e.line(l) {
					return false
				}
			}
			*unreadable += c.unreadable
		case <-ctx.Done():
			return false
		}
	}
}

// line yields one line. It reports false when the search is over.
func (e *emitter) line(l SearchLine) bool {
	full := e.req.Limit > 0 && e.matches == e.req.Limit
	switch {
	case l.Context:
		if full && (l.Path != e.file || l.Line > e.last+e.req.Context) {
			return true // stands before a match that is over the limit
		}
	case full:
		e.limited, e.done = true, true
		return false
	default:
		e.matches++
		e.file, e.last = l.Path, l.Line
	}
	if !e.yield(l) {
		e.done = true
		return false
	}
	return true
}
