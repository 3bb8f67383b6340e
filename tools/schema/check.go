package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// checker walks a value beside its schema, converts, and collects violations.
// It covers the part of JSON schema that tools use; the library is the judge of
// the rest.
type checker struct {
	violations []Violation
}

func (c *checker) fail(path, format string, args ...any) {
	c.violations = append(c.violations, Violation{Path: path, Message: fmt.Sprintf(format, args...)})
}

// value returns v as it satisfies s.
func (c *checker) value(path string, s *jsonschema.Schema, v any) any {
	if s == nil {
		return v
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return hasType(v, t) }) {
		converted, ok := normalize(v, types)
		if !ok {
			converted, ok = convert(v, types)
		}
		if !ok {
			c.fail(path, "Expected %s, got %s", strings.Join(types, " or "), describe(v))
			return v
		}
		v = converted
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return sameAsSchema(e, v) }) {
		c.fail(path, "Expected one of %s", oneOf(s.Enum))
	}
	switch v := v.(type) {
	case *object:
		return c.object(path, s, v)
	case []any:
		return c.array(path, s, v)
	case json.Number:
		c.number(path, s, v)
	case string:
		n := utf8.RuneCountInString(v)
		if s.MinLength != nil && n < *s.MinLength {
			c.fail(path, "Expected at least %d characters", *s.MinLength)
		}
		if s.MaxLength != nil && n > *s.MaxLength {
			c.fail(path, "Expected at most %d characters", *s.MaxLength)
		}
	}
	return v
}

func (c *checker) object(path string, s *jsonschema.Schema, o *object) any {
	out := &object{values: map[string]any{}}
	for _, key := range o.keys {
		value, property := o.values[key], s.Properties[key]
		if property == nil {
			if forbids(s.AdditionalProperties) && len(s.PatternProperties) == 0 {
				c.fail(join(path, key), "Unknown property; the properties are %s", strings.Join(properties(s), ", "))
				continue
			}
			if s.AdditionalProperties != nil && !forbids(s.AdditionalProperties) {
				value = c.value(join(path, key), s.AdditionalProperties, value)
			}
		} else {
			if value == nil && !slices.Contains(s.Required, key) && !nullable(property) {
				continue
			}
			value = c.value(join(path, key), property, value)
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

func (c *checker) array(path string, s *jsonschema.Schema, list []any) any {
	if s.MinItems != nil && len(list) < *s.MinItems {
		c.fail(path, "Expected at least %d items", *s.MinItems)
	}
	if s.MaxItems != nil && len(list) > *s.MaxItems {
		c.fail(path, "Expected at most %d items", *s.MaxItems)
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = c.value(join(path, strconv.Itoa(i)), s.Items, item)
	}
	return out
}

func (c *checker) number(path string, s *jsonschema.Schema, v json.Number) {
	n, ok := rational(v)
	if !ok {
		c.fail(path, "Expected a number in range, got %s", v)
		return
	}
	for _, bound := range []struct {
		limit *float64
		ok    func(int) bool
		text  string
	}{
		{s.Minimum, func(cmp int) bool { return cmp >= 0 }, "at least"},
		{s.Maximum, func(cmp int) bool { return cmp <= 0 }, "at most"},
		{s.ExclusiveMinimum, func(cmp int) bool { return cmp > 0 }, "more than"},
		{s.ExclusiveMaximum, func(cmp int) bool { return cmp < 0 }, "less than"},
	} {
		if bound.limit == nil {
			continue
		}
		if limit := new(big.Rat).SetFloat64(*bound.limit); limit != nil && !bound.ok(n.Cmp(limit)) {
			c.fail(path, "Expected %s %v, got %s", bound.text, *bound.limit, v)
		}
	}
}

// forbids reports whether s is the schema that nothing satisfies.
func forbids(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && jsonschema.Equal(*s.Not, jsonschema.Schema{})
}

func nullable(s *jsonschema.Schema) bool {
	return s.Type == "null" || slices.Contains(s.Types, "null") ||
		s.Type == "" && len(s.Types) == 0 && (len(s.AnyOf) > 0 || len(s.OneOf) > 0)
}

func properties(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func oneOf(enum []any) string {
	var list []string
	for _, e := range enum {
		text, err := json.Marshal(e)
		if err != nil {
			continue
		}
		list = append(list, string(text))
	}
	return strings.Join(list, ", ")
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
	if path == "" {
		return key
	}
	return path + "." + key
}
