package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/tool"
)

// Spec describes a tool whose parameters are the struct P. Its json tags name
// the properties, its jsonschema tags describe them; a property without
// omitempty is required; others than those of the struct are rejected.
type Spec[P any] struct {
	Name        string
	Label       string
	Description string
	Mode        tool.ExecutionMode
	Access      tool.Access
	Prompt      tool.Prompt
	// Adjust adds to the derived schema what tags can't say.
	Adjust func(*jsonschema.Schema)
	// Prepare adapts older argument shapes before validation.
	Prepare func(json.RawMessage) (json.RawMessage, error)
	// Execute runs a call, under the contract of tool.Tool.
	Execute func(ctx context.Context, call tool.Call, params P, update tool.Update) (tool.Result, error)
	// Reserve takes a call's place, under the contract of tool.Reserver.
	Reserve func(call tool.Call, params P) tool.Reservation

	ConstrainedSampling tool.ConstrainedSampling
}

// Define returns the tool that a spec describes. It implements those optional
// interfaces for which the spec has a field set.
func Define[P any](s Spec[P]) (tool.Tool, error) {
	if s.Name == "" || s.Execute == nil {
		return nil, fmt.Errorf("a tool needs a name and a function to execute")
	}
	derived, err := jsonschema.For[P](nil)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", s.Name, err)
	}
	tidy(derived)
	if s.Adjust != nil {
		s.Adjust(derived)
	}
	parameters, err := json.Marshal(derived)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", s.Name, err)
	}
	t := defined[P]{spec: s, info: tool.Info{
		Declaration: tool.Declaration{
			Name: s.Name, Description: s.Description, Parameters: parameters, ConstrainedSampling: s.ConstrainedSampling,
		},
		Label: s.Label, ExecutionMode: s.Mode, Access: s.Access,
	}}
	return t.withAbilities(), nil
}

// tidy removes the null that Go pointers and slices add: an optional property
// is left out, not null.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) > 0 {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
	}
	for _, p := range s.Properties {
		tidy(p)
	}
	tidy(s.Items)
}

type defined[P any] struct {
	spec Spec[P]
	info tool.Info
}

func (t defined[P]) Info() tool.Info { return t.info }

func (t defined[P]) Execute(ctx context.Context, call tool.Call, update tool.Update) (tool.Result, error) {
	params, err := t.params(call)
	if err != nil {
		return tool.Result{}, err
	}
	return t.spec.Execute(ctx, call, params, update)
}

func (t defined[P]) params(call tool.Call) (P, error) {
	var params P
	if err := json.Unmarshal(call.Args, &params); err != nil {
		return params, fmt.Errorf("arguments of %s don't fit %s: %w", t.spec.Name, reflect.TypeFor[P](), err)
	}
	return params, nil
}

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
