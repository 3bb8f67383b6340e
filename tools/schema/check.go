package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// checker walks a value beside its schema, converts, and collects violations.
// It covers the part of JSON schema that tools use; the library is the judge of
// the rest.
type checker struct {
	index      *index
	at         string // the path of the outermost value
	violations []Violation
	doubts     []Violation // violations if the library refuses the value
	changed    bool        // a value was converted or left out
	mismatch   []string    // the types that the outermost value should have had
}

func (c *checker) fail(path, format string, args ...any) {
	c.violations = append(c.violations, Violation{Path: path, Message: fmt.Sprintf(format, args...)})
}

// fits reports whether v satisfies s as it stands.
func (c *checker) fits(s *jsonschema.Schema, v any) bool {
	trial := &checker{index: c.index}
	trial.value("", s, v)
	return len(trial.violations) == 0 && !trial.changed
}

// value returns v in the form in which it satisfies s.
func (c *checker) value(path string, s *jsonschema.Schema, v any) any {
	if s == nil {
		return v
	}
	if s.Ref != "" {
		target, err := c.index.target(s)
		if err != nil {
			c.fail(path, "%v", err)
			return v
		}
		v = c.value(path, target, v)
		if !c.index.siblings {
			return v
		}
	}
	v, ok := c.typed(path, s, v)
	if !ok {
		return v
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return sameAsSchema(e, v) }) {
		c.fail(path, "Expected one of %s, got %s", list(s.Enum), describe(v))
	}
	if s.Const != nil && !sameAsSchema(*s.Const, v) {
		c.fail(path, "Expected %s, got %s", list([]any{*s.Const}), describe(v))
	}
	switch inner := v.(type) {
	case *object:
		v = c.object(path, s, inner)
	case []any:
		v = c.array(path, s, inner)
	case json.Number:
		c.number(path, s, inner)
	case string:
		c.text(path, s, inner)
	}
	return c.combined(path, s, v)
}

// typed returns v as one of the types of s, if it has or can have one.
func (c *checker) typed(path string, s *jsonschema.Schema, v any) (any, bool) {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return hasType(v, t) }) {
		return v, true
	}
	if n, ok := normalize(v, types); ok {
		return n, true
	}
	if converted, ok := convert(v, types); ok {
		c.changed = true
		return converted, true
	}
	if path == c.at {
		c.mismatch = types
	}
	c.fail(path, "Expected %s, got %s", strings.Join(types, " or "), describe(v))
	return v, false
}

func (c *checker) object(path string, s *jsonschema.Schema, o *object) any {
	out := &object{values: map[string]any{}}
	for _, key := range o.keys {
		value, property := o.values[key], s.Properties[key]
		switch {
		case property != nil:
			if value == nil && !slices.Contains(s.Required, key) && !c.fits(property, nil) {
				c.changed = true
				continue // null is omission
			}
			value = c.value(join(path, key), property, value)
		case len(s.PatternProperties) > 0 || s.AdditionalProperties == nil:
			// The library judges.
		case forbids(s.AdditionalProperties):
			c.fail(join(path, key), "Unknown property; %s", known(s))
		default:
			value = c.value(join(path, key), s.AdditionalProperties, value)
		}
		out.keys = append(out.keys, key)
		out.values[key] = value
	}
	for _, key := range s.Required {
		if _, ok := out.values[key]; !ok {
			c.fail(join(path, key), "Expected required property")
		}
	}
	return out
}

func (c *checker) array(path string, s *jsonschema.Schema, items []any) any {
	if s.MinItems != nil && len(items) < *s.MinItems {
		c.fail(path, "Expected at least %d items, got %d", *s.MinItems, len(items))
	}
	if s.MaxItems != nil && len(items) > *s.MaxItems {
		c.fail(path, "Expected at most %d items, got %d", *s.MaxItems, len(items))
	}
	out := slices.Clone(items)
	for i := min(len(s.PrefixItems), len(items)); i < len(items); i++ { // the library judges those before
		out[i] = c.value(join(path, strconv.Itoa(i)), s.Items, items[i])
	}
	return out
}

func (c *checker) number(path string, s *jsonschema.Schema, v json.Number) {
	n, ok := float(v)
	if !ok {
		c.fail(path, "Expected a number in range, got %s", v)
		return
	}
	fail := func(text string, limit float64) {
		c.fail(path, "Expected %s %s, got %s", text, strconv.FormatFloat(limit, 'f', -1, 64), v)
	}
	if s.Minimum != nil && n < *s.Minimum {
		fail("at least", *s.Minimum)
	}
	if s.Maximum != nil && n > *s.Maximum {
		fail("at most", *s.Maximum)
	}
	if s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum {
		fail("more than", *s.ExclusiveMinimum)
	}
	if s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum {
		fail("less than", *s.ExclusiveMaximum)
	}
}

func (c *checker) text(path string, s *jsonschema.Schema, v string) {
	n := utf8.RuneCountInString(v)
	if s.MinLength != nil && n < *s.MinLength {
		c.fail(path, "Expected at least %d characters, got %d", *s.MinLength, n)
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		c.fail(path, "Expected at most %d characters, got %d", *s.MaxLength, n)
	}
	if s.Pattern != "" && !c.index.patterns[s.Pattern].MatchString(v) {
		c.fail(path, "Expected text that matches %s, got %s", s.Pattern, describe(v))
	}
}

// forbids reports whether s is the schema that nothing satisfies.
func forbids(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && jsonschema.Equal(*s.Not, jsonschema.Schema{})
}

// known names the properties of s.
func known(s *jsonschema.Schema) string {
	names := slices.Clone(s.PropertyOrder)
	for name := range s.Properties {
		if !slices.Contains(s.PropertyOrder, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[len(s.PropertyOrder):])
	if len(names) == 0 {
		return "there are none"
	}
	return "the properties are " + strings.Join(names, ", ")
}

func list(constants []any) string {
	var texts []string
	for _, e := range constants {
		if text, err := encode(e); err == nil {
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, ", ")
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		if len(v) > 40 {
			return "string"
		}
		return strconv.Quote(v)
	case json.Number:
		return v.String()
	case []any:
		return "array"
	}
	return "object"
}

func join(path, key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		key = strconv.Quote(key)
	}
	key = shorten(key, 100)
	if path == "" {
		return key
	}
	return path + "." + key
}
