package tools

import (
	"context"
	"encoding/json"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// action is the body of a call that works on one file.
type action func(ctx context.Context, update tool.Update) (tool.Result, error)

// reserve takes the call's place in the queue of the file that it names. Every
// verb but "read" changes the file.
func (w workspace) reserve(call tool.Call, verb, arg string, run action) tool.Reservation {
	abs, err := w.resolve(arg, call.Scope)
	if err != nil {
		return &reservation{err: err}
	}
	return &reservation{failed: w.fileError, verb: verb, arg: arg, ticket: w.set.Mutations.Ticket(abs, verb != "read"), run: run}
}

// reservation is a place in a file's queue with what to do there.
type reservation struct {
	verb   string
	arg    string
	ticket *ops.Ticket
	run    action
	failed func(verb, arg string, err error) error
	err    error // the path can't be resolved
}

// Execute waits for the place and runs the call while it is held.
func (r *reservation) Execute(ctx context.Context, update tool.Update) (result tool.Result, err error) {
	if r.err != nil {
		return tool.Result{}, r.err
	}
	ran := false
	derr := r.ticket.Do(ctx, func(ctx context.Context) error {
		ran = true
		result, err = r.run(ctx, update)
		return err
	})
	if !ran {
		return tool.Result{}, r.failed(r.verb, r.arg, derr)
	}
	return result, err
}

// Release gives the place up.
func (r *reservation) Release() {
	if r.ticket != nil {
		r.ticket.Release()
	}
}

// loneSurrogate returns the offset of the first \uXXXX escape in JSON text that
// is half of a UTF-16 pair, or -1.
func loneSurrogate(raw json.RawMessage) int {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		switch surrogate(raw, i) {
		case highSurrogate:
			if surrogate(raw, i+6) != lowSurrogate {
				return i
			}
			i += 11
		case lowSurrogate:
			return i
		default:
			i += 5
		}
	}
	return -1
}

type surrogateKind int

const (
	noSurrogate surrogateKind = iota
	highSurrogate
	lowSurrogate
)

// surrogate classifies the escape at raw[i:], if there is one.
func surrogate(raw []byte, i int) surrogateKind {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' || raw[i+2]|0x20 != 'd' {
		return noSurrogate
	}
	switch raw[i+3] | 0x20 {
	case '8', '9', 'a', 'b':
		return highSurrogate
	case 'c', 'd', 'e', 'f':
		return lowSurrogate
	}
	return noSurrogate
}
