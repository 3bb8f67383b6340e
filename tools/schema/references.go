package schema

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// index finds what a schema's keywords point at.
type index struct {
	root     *jsonschema.Schema
	pointers map[string]*jsonschema.Schema // by JSON pointer, "" is the root
	patterns map[string]*regexp.Regexp
	// siblings says whether keywords beside $ref count; in draft 7 they don't.
	siblings bool
}

// newIndex walks a schema. References must be JSON pointers into it, and must
// not lead back to themselves without going into a part of the value: the
// library would follow them for ever.
func newIndex(root *jsonschema.Schema, siblings bool) (*index, error) {
	x := &index{root: root, pointers: map[string]*jsonschema.Schema{}, patterns: map[string]*regexp.Regexp{}, siblings: siblings}
	if err := x.add("", root); err != nil {
		return nil, err
	}
	done := map[*jsonschema.Schema]bool{}
	for _, s := range x.pointers {
		if err := x.acyclic(s, done, nil); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *index) add(pointer string, s *jsonschema.Schema) error {
	switch {
	case s == nil:
		return nil
	case s.DynamicRef != "" || s.DynamicAnchor != "":
		return errors.New("dynamic references are not supported")
	case s.ID != "" && s != x.root:
		return fmt.Errorf("an $id within a schema is not supported: %s", s.ID)
	}
	x.pointers[pointer] = s
	if s.Pattern != "" && x.patterns[s.Pattern] == nil {
		re, err := regexp.Compile(s.Pattern)
		if err != nil {
			return err
		}
		x.patterns[s.Pattern] = re
	}
	for _, c := range parts(s) {
		if err := x.add(pointer+c.pointer, c.schema); err != nil {
			return err
		}
	}
	for _, c := range inPlace(s) {
		if err := x.add(pointer+c.pointer, c.schema); err != nil {
			return err
		}
	}
	return nil
}

// target returns the schema that s refers to.
func (x *index) target(s *jsonschema.Schema) (*jsonschema.Schema, error) {
	if pointer, ok := strings.CutPrefix(s.Ref, "#"); ok {
		if text, err := url.PathUnescape(pointer); err == nil {
			if t := x.pointers[text]; t != nil {
				return t, nil
			}
		}
	}
	return nil, fmt.Errorf("the reference %q leads nowhere within the schema", s.Ref)
}

// acyclic fails if checking one value against s comes back to s.
func (x *index) acyclic(s *jsonschema.Schema, done map[*jsonschema.Schema]bool, way []*jsonschema.Schema) error {
	if slices.Contains(way, s) {
		return errors.New("the schema refers to itself without going into the value")
	}
	if s == nil || done[s] {
		return nil
	}
	way = append(way, s)
	if s.Ref != "" {
		t, err := x.target(s)
		if err != nil {
			return err
		}
		if err := x.acyclic(t, done, way); err != nil {
			return err
		}
	}
	for _, c := range inPlace(s) {
		if err := x.acyclic(c.schema, done, way); err != nil {
			return err
		}
	}
	done[s] = true
	return nil
}

// part is a schema within a schema and the JSON pointer from the one to the other.
type part struct {
	pointer string
	schema  *jsonschema.Schema
}

// inPlace lists the schemas within s that are for the same value.
func inPlace(s *jsonschema.Schema) []part {
	list := []part{{"/not", s.Not}, {"/if", s.If}, {"/then", s.Then}, {"/else", s.Else}}
	list = append(list, ofList("/allOf", s.AllOf)...)
	list = append(list, ofList("/anyOf", s.AnyOf)...)
	list = append(list, ofList("/oneOf", s.OneOf)...)
	list = append(list, ofMap("/dependentSchemas", s.DependentSchemas)...)
	return append(list, ofMap("/dependencies", s.DependencySchemas)...)
}

// parts lists the schemas within s that are for parts of the value, or for none.
func parts(s *jsonschema.Schema) []part {
	list := []part{
		{"/items", s.Items},
		{"/additionalItems", s.AdditionalItems},
		{"/contains", s.Contains},
		{"/unevaluatedItems", s.UnevaluatedItems},
		{"/additionalProperties", s.AdditionalProperties},
		{"/propertyNames", s.PropertyNames},
		{"/unevaluatedProperties", s.UnevaluatedProperties},
		{"/contentSchema", s.ContentSchema},
	}
	list = append(list, ofList("/prefixItems", s.PrefixItems)...)
	list = append(list, ofList("/items", s.ItemsArray)...)
	list = append(list, ofMap("/properties", s.Properties)...)
	list = append(list, ofMap("/patternProperties", s.PatternProperties)...)
	list = append(list, ofMap("/$defs", s.Defs)...)
	return append(list, ofMap("/definitions", s.Definitions)...)
}

func ofList(pointer string, schemas []*jsonschema.Schema) []part {
	var list []part
	for i, s := range schemas {
		list = append(list, part{pointer + "/" + strconv.Itoa(i), s})
	}
	return list
}

func ofMap(pointer string, schemas map[string]*jsonschema.Schema) []part {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var list []part
	for name, s := range schemas {
		list = append(list, part{pointer + "/" + escape.Replace(name), s})
	}
	return list
}
