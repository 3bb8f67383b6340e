package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Validator checks arguments against one schema. It is safe for concurrent use.
type Validator struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile prepares a schema. No schema means any object.
func Compile(parameters json.RawMessage) (*Validator, error) {
	if len(bytes.TrimSpace(parameters)) == 0 {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(parameters, s); err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	return &Validator{schema: s, resolved: resolved}, nil
}

// Validate returns the arguments in the form in which they satisfy the schema:
// null for an optional property that can't be null is left out, and primitives
// of the wrong type are converted where nothing is lost. args is not changed.
// Arguments that can't satisfy it are a *ValidationError.
func (v *Validator) Validate(toolName string, args json.RawMessage) (json.RawMessage, error) {
	fail := func(vs ...Violation) (json.RawMessage, error) {
		return nil, &ValidationError{Tool: toolName, Violations: vs, Received: args}
	}
	raw := args
	if t := bytes.TrimSpace(raw); len(t) == 0 || bytes.Equal(t, []byte("null")) {
		raw = json.RawMessage("{}")
	}
	value, err := decode(raw)
	if err != nil {
		return fail(Violation{Message: err.Error()})
	}
	c := &checker{}
	value = c.value("", v.schema, value)
	if len(c.violations) > 0 {
		return fail(c.violations...)
	}
	out, err := encode(value)
	if err != nil {
		return fail(Violation{Message: err.Error()})
	}
	if err := v.resolved.Validate(plainValue(value)); err != nil {
		return fail(Violation{Message: strings.TrimPrefix(err.Error(), "validating root: ")})
	}
	return out, nil
}
