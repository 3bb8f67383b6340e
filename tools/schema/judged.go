package schema

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// judged reports whether checker knows all that s demands, so that the library
// need not be asked: the keywords of most tools, which are types, properties,
// items, constants and bounds.
func judged(s *jsonschema.Schema) bool {
	if s == nil {
		return true
	}
	rest := *s
	rest.Schema, rest.Comment, rest.Title, rest.Description, rest.Default, rest.Examples = "", "", "", "", nil, nil
	rest.Deprecated, rest.ReadOnly, rest.WriteOnly, rest.PropertyOrder = false, false, false, nil
	rest.Type, rest.Types, rest.Enum = "", nil, nil
	rest.Minimum, rest.Maximum, rest.ExclusiveMinimum, rest.ExclusiveMaximum = nil, nil, nil, nil
	rest.MinLength, rest.MaxLength, rest.Pattern = nil, nil, ""
	rest.MinItems, rest.MaxItems, rest.Items = nil, nil, nil
	rest.Properties, rest.Required, rest.AdditionalProperties = nil, nil, nil
	if !reflect.DeepEqual(rest, jsonschema.Schema{}) {
		return false
	}
	for _, t := range append(slices.Clone(s.Types), s.Type) {
		if !slices.Contains([]string{"", "null", "boolean", "integer", "number", "string", "array", "object"}, t) {
			return false
		}
	}
	for _, p := range s.Properties {
		if !judged(p) {
			return false
		}
	}
	// Only additional properties may be forbidden by a schema that nothing satisfies.
	return judged(s.Items) && (forbids(s.AdditionalProperties) || judged(s.AdditionalProperties))
}
