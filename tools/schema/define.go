package schema

import (
	"context"
	"encoding/json"
	"errors"
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
// interfaces for which the spec has a field set. An error means that the spec
// is wrong: no name or function, P no struct, or a schema that doesn't compile.
func Define[P any](s Spec[P]) (tool.Tool, error) {
	if s.Name == "" || s.Execute == nil {
		return nil, fmt.Errorf("a tool needs a name and a function to execute")
	}
	derived, err := jsonschema.For[P](nil)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", s.Name, err)
	}
	if derived.Type != "object" {
		return nil, fmt.Errorf("schema of %s: %s is no struct", s.Name, reflect.TypeFor[P]())
	}
	tidy(derived)
	if s.Adjust != nil {
		s.Adjust(derived)
	}
	parameters, err := json.Marshal(derived)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", s.Name, err)
	}
	if _, err := Compile(parameters); err != nil {
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
	tidy(s.AdditionalProperties)
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
	err := json.Unmarshal(call.Args, &params)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		// Valid by the schema, but more than the Go type holds, such as 1e30.
		return params, &ValidationError{Tool: t.spec.Name, Received: call.Args, Violations: []Violation{{
			Path: mismatch.Field, Message: fmt.Sprintf("Expected a value that fits %s, got %s", mismatch.Type, mismatch.Value),
		}}}
	}
	if err != nil {
		return params, fmt.Errorf("arguments of %s don't fit %s: %w", t.spec.Name, reflect.TypeFor[P](), err)
	}
	return params, nil
}
