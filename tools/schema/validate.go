package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Violation is one way in which arguments don't fit.
type Violation struct {
	Path    string // dotted, such as edits.0.oldText; empty for the whole
	Message string
}

// ValidationError lists every violation, for the model to read.
type ValidationError struct {
	Tool       string
	Violations []Violation
	Received   json.RawMessage // as they came
}

// receivedLimit bounds what an error repeats of the arguments, in bytes.
const receivedLimit = 4096

func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Validation failed for tool %q:\n", e.Tool)
	for _, v := range e.Violations {
		if v.Path == "" {
			fmt.Fprintf(&b, "  - %s\n", v.Message)
		} else {
			fmt.Fprintf(&b, "  - %s: %s\n", v.Path, v.Message)
		}
	}
	b.WriteString("\nReceived arguments:\n")
	b.WriteString(indent(e.Received))
	return b.String()
}

func indent(raw json.RawMessage) string {
	text := string(raw)
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") == nil {
		text = out.String()
	}
	if len(text) > receivedLimit {
		text = strings.ToValidUTF8(text[:receivedLimit], "") + fmt.Sprintf("\n... (%d bytes in all)", len(raw))
	}
	return text
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
	out, err := json.Marshal(value)
	if err != nil {
		return fail(Violation{Message: err.Error()})
	}
	var plain any
	if err := json.Unmarshal(out, &plain); err != nil {
		return fail(Violation{Message: err.Error()})
	}
	if err := v.resolved.Validate(plain); err != nil {
		return fail(Violation{Message: strings.TrimPrefix(err.Error(), "validating root: ")})
	}
	return out, nil
}

// decode reads one JSON value, keeping numbers as they are written and refusing
// keys that stand twice.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := decodeValue(d)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the JSON ends early")
		}
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows behind the JSON value")
	}
	return value, nil
}

// object is a JSON object in its order.
type object struct {
	keys   []string
	values map[string]any
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[k])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func decodeValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			item, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	}
	o := &object{values: map[string]any{}}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("a key of an object is no string: %v", token)
		}
		if _, twice := o.values[key]; twice {
			return nil, fmt.Errorf("the key %q stands twice", key)
		}
		if o.values[key], err = decodeValue(d); err != nil {
			return nil, err
		}
		o.keys = append(o.keys, key)
	}
	_, err = d.Token()
	return o, err
}
