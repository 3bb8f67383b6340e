package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// combined returns v as it satisfies the schemas that s combines.
func (c *checker) combined(path string, s *jsonschema.Schema, v any) any {
	for _, branch := range s.AllOf {
		v = c.value(path, branch, v)
	}
	if len(s.AnyOf) > 0 {
		v, _ = c.choose(path, s.AnyOf, v)
	}
	if len(s.OneOf) > 0 {
		out, fitting := c.choose(path, s.OneOf, v)
		if fitting > 1 {
			// Unless the library knows better: this walk sees a part of the keywords.
			c.doubts = append(c.doubts, Violation{
				Path: path, Message: fmt.Sprintf("Expected exactly one of %d forms, %d of them fit", len(s.OneOf), fitting),
			})
		}
		v = out
	}
	return v
}

// choose returns v as it satisfies one of the branches: the first that takes it
// as it stands, else the first that takes it converted. fitting counts those
// that take it as it stands.
func (c *checker) choose(path string, branches []*jsonschema.Schema, v any) (out any, fitting int) {
	var converted *checker
	var convertedTo any
	out = v
	trials := make([]*checker, len(branches))
	for i, branch := range branches {
		trial := &checker{index: c.index, at: path}
		trials[i] = trial
		result := trial.value(path, branch, v)
		switch {
		case len(trial.violations) > 0:
		case !trial.changed:
			if fitting++; fitting == 1 {
				out = result
			}
		case converted == nil:
			converted, convertedTo = trial, result
		}
	}
	if fitting > 0 {
		return out, fitting
	}
	if converted != nil {
		c.changed = true
		return convertedTo, 0
	}
	c.explain(path, trials, v)
	return v, 0
}

// explain says why v fits none of the branches: by the types that they take, if
// it is of none of them, else by what is wrong with it for the nearest.
func (c *checker) explain(path string, trials []*checker, v any) {
	var types []string
	var nearest *checker
	for _, t := range trials {
		if t.mismatch != nil {
			types = append(types, t.mismatch...)
			continue
		}
		if nearest == nil || len(t.violations) < len(nearest.violations) {
			nearest = t
		}
	}
	if nearest != nil {
		c.violations = append(c.violations, nearest.violations...)
		return
	}
	slices.Sort(types)
	types = slices.Compact(types)
	if path == c.at {
		c.mismatch = types
	}
	c.fail(path, "Expected %s, got %s", strings.Join(types, " or "), describe(v))
}
