package schema

import (
	"encoding/json"
	"testing"
)

// The library is left out only where every keyword is known here.
func TestJudged(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true,
		`{"type":"object","description":"x","properties":{"a":{"type":["string","null"],"minLength":1,"pattern":"^a"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer","minimum":1},"maxItems":2}}`:                                                true,
		`{"properties":{"a":{"enum":[1,"b",null]}}}`:                             true,
		`{"properties":{"a":{"const":1}}}`:                                       false,
		`{"properties":{"a":{"multipleOf":2}}}`:                                  false,
		`{"properties":{"a":{"items":{"uniqueItems":true}}}}`:                    false,
		`{"properties":{"a":{"anyOf":[{"type":"string"}]}}}`:                     false,
		`{"properties":{"a":{"not":{}}}}`:                                        false,
		`{"properties":{"a":{"not":{},"minProperties":1}}}`:                      false,
		`{"properties":{"a":{"not":{"type":"string"}}}}`:                         false,
		`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`:             false,
		`{"patternProperties":{"^a":{"type":"string"}}}`:                         false,
		`{"minProperties":1}`:                                                    false,
		`{"dependentRequired":{"a":["b"]}}`:                                      false,
		`{"if":{"required":["a"]},"then":{"required":["b"]}}`:                    false,
		`{"properties":{"a":{"prefixItems":[{"type":"string"}]}}}`:               false,
		`{"additionalProperties":{"contains":{"type":"string"}}}`:                false,
		`{"properties":{"a":{"type":"object","propertyNames":{"maxLength":1}}}}`: false,
	} {
		v, err := Compile(json.RawMessage(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := v.resolved == nil; got != want {
			t.Errorf("%s is judged here: %v", text, got)
		}
	}
}
