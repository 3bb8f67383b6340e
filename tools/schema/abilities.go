package schema

import (
	"context"
	"encoding/json"

	"github.com/piremote/piremote/tools/tool"
)

// The abilities of a defined tool, each of its own type so that an absent one
// is absent.
type (
	preparer[P any] struct{ t defined[P] }
	prompter[P any] struct{ t defined[P] }
	reserver[P any] struct{ t defined[P] }
)

func (a preparer[P]) PrepareArguments(args json.RawMessage) (json.RawMessage, error) {
	return a.t.spec.Prepare(args)
}

func (a prompter[P]) Prompt() tool.Prompt { return a.t.spec.Prompt }

func (a reserver[P]) Reserve(call tool.Call) tool.Reservation {
	params, err := a.t.params(call)
	if err != nil {
		return refused{err}
	}
	return a.t.spec.Reserve(call, params)
}

// refused is the reservation of a call whose arguments don't fit.
type refused struct{ err error }

func (r refused) Execute(context.Context, tool.Update) (tool.Result, error) {
	return tool.Result{}, r.err
}
func (r refused) Release() {}

func (t defined[P]) withAbilities() tool.Tool {
	pre, prompt, res := preparer[P]{t}, prompter[P]{t}, reserver[P]{t}
	hasPrompt := t.spec.Prompt.Snippet != "" || len(t.spec.Prompt.Guidelines) > 0
	switch hasPre, hasRes := t.spec.Prepare != nil, t.spec.Reserve != nil; {
	case hasPre && hasPrompt && hasRes:
		return struct {
			defined[P]
			preparer[P]
			prompter[P]
			reserver[P]
		}{t, pre, prompt, res}
	case hasPre && hasPrompt:
		return struct {
			defined[P]
			preparer[P]
			prompter[P]
		}{t, pre, prompt}
	case hasPre && hasRes:
		return struct {
			defined[P]
			preparer[P]
			reserver[P]
		}{t, pre, res}
	case hasPrompt && hasRes:
		return struct {
			defined[P]
			prompter[P]
			reserver[P]
		}{t, prompt, res}
	case hasPre:
		return struct {
			defined[P]
			preparer[P]
		}{t, pre}
	case hasPrompt:
		return struct {
			defined[P]
			prompter[P]
		}{t, prompt}
	case hasRes:
		return struct {
			defined[P]
			reserver[P]
		}{t, res}
	}
	return t
}
