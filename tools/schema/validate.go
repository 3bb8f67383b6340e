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
	index    *index
	resolved *jsonschema.Resolved // nil where checker alone is the judge
}

// Compile prepares a schema of draft 2020-12 or 7; one of another draft is read
// as 2020-12. No schema means any object. References must lead to a place within
// the schema.
func Compile(parameters json.RawMessage) (*Validator, error) {
	if len(bytes.TrimSpace(parameters)) == 0 {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(parameters, s); err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	draft7 := strings.Contains(s.Schema, "draft-07")
	if s.Schema = ""; draft7 {
		s.Schema = "http://json-schema.org/draft-07/schema#" // the library takes no other spelling
	}
	index, err := newIndex(s, !draft7)
	if err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("parameter schema: %w", err)
	}
	if judged(s) {
		resolved = nil
	}
	return &Validator{index: index, resolved: resolved}, nil
}

// Validate returns the arguments in the form in which they satisfy the schema:
// null for an optional property that can't be null is left out, and primitives
// of the wrong type are converted where nothing is lost ("42" to 42, true to
// "true", 1.0 to the integer 1). Empty arguments and null are {}. args is not
// changed, numbers keep their digits, members their order. What is valid is
// returned as it is when validated again. Arguments that can't satisfy the
// schema, and ones that are no JSON object, are a *ValidationError.
func (v *Validator) Validate(toolName string, args json.RawMessage) (json.RawMessage, error) {
	fail := func(vs ...Violation) (json.RawMessage, error) {
		return nil, &ValidationError{Tool: toolName, Violations: vs, Received: bytes.Clone(args)}
	}
	raw := args
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		raw = json.RawMessage("{}")
	}
	value, err := decode(raw)
	if err != nil {
		return fail(Violation{Message: err.Error()})
	}
	if _, ok := value.(*object); !ok {
		return fail(Violation{Message: "Expected object, got " + describe(value)})
	}
	c := &checker{index: v.index}
	value = c.value("", v.index.root, value)
	if len(c.violations) > 0 {
		return fail(c.violations...)
	}
	if v.resolved != nil {
		if err := v.resolved.Validate(plainValue(value)); err != nil {
			if len(c.doubts) > 0 {
				return fail(c.doubts...)
			}
			return fail(Violation{Message: cause(err)})
		}
	}
	out, err := encode(value)
	if err != nil {
		return fail(Violation{Message: err.Error()})
	}
	return out, nil
}

// cause drops from an error of the library the schemas that it was in.
func cause(err error) string {
	text := err.Error()
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			return text
		}
		if _, rest, ok = strings.Cut(rest, ": "); !ok {
			return text
		}
		text = rest
	}
}
