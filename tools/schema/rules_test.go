package schema

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// property returns a validator for an object with the one optional property p.
func property(t *testing.T, s string) *Validator {
	t.Helper()
	v, err := Compile(json.RawMessage(`{"type":"object","properties":{"p":` + s + `},"additionalProperties":false,
		"$defs":{"name":{"type":"string","minLength":2},"tree":{"type":"object","required":["name"],
		"properties":{"name":{"type":"string"},"below":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// Each row is a schema for p, a value, and the value as validated or the
// violations, one a line.
func TestRules(t *testing.T) {
	for _, c := range []struct{ schema, in, want string }{
		// Primitive conversions, never with loss.
		{`{"type":"number"}`, `"42"`, `42`},
		{`{"type":"number"}`, `" -1.50 "`, `-1.50`},
		{`{"type":"number"}`, `1.0`, `1.0`},
		{`{"type":"number"}`, `"abc"`, `p: Expected number, got "abc"`},
		{`{"type":"number"}`, `"null"`, `p: Expected number, got "null"`},
		{`{"type":"number"}`, `"NaN"`, `p: Expected number, got "NaN"`},
		{`{"type":"number"}`, `"0x10"`, `p: Expected number, got "0x10"`},
		{`{"type":"number"}`, `"1e999"`, `p: Expected number, got "1e999"`},
		{`{"type":"number"}`, `""`, `p: Expected number, got ""`},
		{`{"type":"number"}`, `true`, `p: Expected number, got boolean`},
		{`{"type":"integer"}`, `"42"`, `42`},
		{`{"type":"integer"}`, `1.0`, `1`},
		{`{"type":"integer"}`, `"1e3"`, `1000`},
		{`{"type":"integer"}`, `1.5`, `p: Expected integer, got 1.5`},
		{`{"type":"integer"}`, `"1.5"`, `p: Expected integer, got "1.5"`},
		{`{"type":"integer"}`, `9007199254740993`, `9007199254740993`},
		{`{"type":"integer"}`, `"123456789012345678901234567890"`, `123456789012345678901234567890`},
		{`{"type":"string"}`, `42`, `"42"`},
		{`{"type":"string"}`, `12345678901234567890`, `"12345678901234567890"`},
		{`{"type":"string"}`, `true`, `"true"`},
		{`{"type":"string"}`, `{}`, `p: Expected string, got object`},
		{`{"type":"string"}`, `[]`, `p: Expected string, got array`},
		{`{"type":"string"}`, `"<a> && \u2028 é"`, `"<a> && \u2028 é"`},
		{`{"type":"boolean"}`, `"true"`, `true`},
		{`{"type":"boolean"}`, `"false"`, `false`},
		{`{"type":"boolean"}`, `"yes"`, `p: Expected boolean, got "yes"`},
		{`{"type":"boolean"}`, `1`, `p: Expected boolean, got 1`},
		{`{"type":["string","integer"]}`, `1.0`, `1`},
		{`{"type":["integer","boolean"]}`, `"true"`, `true`},
		{`{"type":"array","items":{"type":"integer"}}`, `["1",2]`, `[1,2]`},
		{`{"type":"array","items":{"type":"integer"}}`, `[1,"x",null]`, "p.1: Expected integer, got \"x\"\np.2: Expected integer, got null"},
		// null is omission where the property is optional and can't be null.
		{`{"type":"string"}`, `null`, ``},
		{`{"type":["string","null"]}`, `null`, `null`},
		{`{}`, `null`, `null`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, `null`},
		{`{"anyOf":[{"type":"string"},{"type":"number"}]}`, `null`, ``},
		{`{"enum":["a"]}`, `null`, ``},
		{`{"enum":["a",null]}`, `null`, `null`},
		{`{"$ref":"#/$defs/name"}`, `null`, ``},
		{`{"type":"object","properties":{"q":{"type":"string"},"r":{}}}`, `{"q":null,"r":null,"s":null}`, `{"r":null,"s":null}`},
		{`{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}`, `{"q":null}`, `p.q: Expected string, got null`},
		// Constraints.
		{`{"type":"integer","minimum":1}`, `0`, `p: Expected at least 1, got 0`},
		{`{"type":"integer","maximum":1000000}`, `1000001`, `p: Expected at most 1000000, got 1000001`},
		{`{"type":"number","exclusiveMinimum":0}`, `0`, `p: Expected more than 0, got 0`},
		{`{"type":"number","exclusiveMinimum":0}`, `"0.5"`, `0.5`},
		{`{"type":"number","minimum":0.1,"maximum":0.1}`, `0.1`, `0.1`},
		{`{"type":"number","exclusiveMaximum":2.5}`, `2.5`, `p: Expected less than 2.5, got 2.5`},
		{`{"type":"string","minLength":1}`, `""`, `p: Expected at least 1 characters, got 0`},
		{`{"type":"string","maxLength":2}`, `"äöü"`, `p: Expected at most 2 characters, got 3`},
		{`{"type":"string","pattern":"^a+$"}`, `"b"`, `p: Expected text that matches ^a+$, got "b"`},
		{`{"type":"array","minItems":1}`, `[]`, `p: Expected at least 1 items, got 0`},
		{`{"type":"array","maxItems":1}`, `[1,2]`, `p: Expected at most 1 items, got 2`},
		{`{"enum":["a","b"]}`, `"c"`, `p: Expected one of "a", "b", got "c"`},
		{`{"enum":[1,{"x":[2]}]}`, `1.0`, `1.0`},
		{`{"enum":[1,{"x":[2]}]}`, `{"x":[2]}`, `{"x":[2]}`},
		{`{"type":"string","enum":["1"]}`, `1`, `"1"`},
		{`{"const":"x"}`, `"y"`, `p: Expected "x", got "y"`},
		{`{"type":"object","properties":{"q":{}},"additionalProperties":false}`, `{"x":1}`, `p.x: Unknown property; the properties are q`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"x":"1","y":2}`, `{"x":1,"y":2}`},
		{`{"type":"object","required":["a","b"]}`, `{}`, "p.a: Expected required property\np.b: Expected required property"},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a\nb":"x"}`, `p."a\nb": Expected integer, got "x"`},
		// Combinations.
		{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `"5"`, `"5"`},
		{`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, `"5"`, `5`},
		{`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, `[]`, `p: Expected boolean or integer, got array`},
		{`{"anyOf":[{"type":"string"},{"type":"object","required":["q"]}]}`, `{}`, `p.q: Expected required property`},
		{`{"oneOf":[{"type":"integer"},{"type":"number"}]}`, `1`, `p: Expected exactly one of 2 forms, 2 of them fit`},
		{`{"oneOf":[{"type":"integer","multipleOf":2},{"type":"integer","multipleOf":3}]}`, `3`, `3`},
		{`{"oneOf":[{"type":"integer"},{"type":"null"}]}`, `"1"`, `1`},
		{`{"allOf":[{"type":"integer"},{"minimum":3}]}`, `"2"`, `p: Expected at least 3, got 2`},
		{`{"$ref":"#/$defs/name"}`, `7`, `p: Expected at least 2 characters, got 1`},
		{`{"$ref":"#/$defs/name"}`, `77`, `"77"`},
		{`{"$ref":"#/$defs/tree"}`, `{"name":1,"below":[{"name":"x","below":null}]}`, `{"name":"1","below":[{"name":"x"}]}`},
		{`{"$ref":"#/$defs/tree"}`, `{"name":"a","below":[{"name":"b","below":[{}]}]}`, `p.below.0.below.0.name: Expected required property`},
		// What the library judges.
		{`{"type":"array","uniqueItems":true}`, `[1,1]`, `uniqueItems`},
		{`{"type":"integer","multipleOf":3}`, `4`, `multipleOf`},
		{`{"not":{"type":"string"}}`, `"x"`, `not`},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"}},"additionalProperties":false}`, `{"a1":1}`, `{"a1":1}`},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"}},"additionalProperties":false}`, `{"b":1}`, `unexpected additional properties`},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `["x","1"]`, `["x",1]`},
	} {
		v := property(t, c.schema)
		in := `{"p":` + c.in + `}`
		got, err := v.Validate("t", json.RawMessage(in))
		if err == nil {
			want := `{"p":` + c.want + `}`
			if c.want == "" {
				want = `{}`
			}
			if string(got) != want {
				t.Errorf("%s: %s becomes %s, want %s", c.schema, c.in, got, want)
			}
			if again, err := v.Validate("t", got); err != nil || string(again) != string(got) {
				t.Errorf("%s: %s changes to %s, %v", c.schema, got, again, err)
			}
			continue
		}
		var ve *ValidationError
		if !errors.As(err, &ve) {
			t.Errorf("%s: %v is no *ValidationError", c.schema, err)
			continue
		}
		var lines []string
		for _, violation := range ve.Violations {
			lines = append(lines, strings.TrimPrefix(violation.Path+": "+violation.Message, ": "))
		}
		text := strings.Join(lines, "\n")
		if text != c.want && (ve.Violations[0].Path != "" || c.want == "" || !strings.HasPrefix(text, c.want)) {
			t.Errorf("%s: %s fails with\n%s\nwant\n%s", c.schema, c.in, text, c.want)
		}
	}
}

func TestArgumentsMustBeOneObject(t *testing.T) {
	v, err := Compile(json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`[1]`: "Expected object, got array", `"x"`: `Expected object, got "x"`, `5`: "Expected object, got 5",
		`{"a":1,"a":2}`: `the key "a" stands twice`, `{"a":{"b":1,"b":1}}`: `the key "b" stands twice`,
		`{"a":1`: "the JSON ends early", `{"a":}`: "not valid JSON", `{} {}`: "more follows", `{"a":1e999}`: "the number 1e999 is out of range",
		"{\"a\":\"\xff\"}": "not valid UTF-8", strings.Repeat(`{"a":`, 1e6): "levels deep", `{"a":1e-9999999}`: "out of range",
	} {
		_, err := v.Validate("t", json.RawMessage(in))
		var ve *ValidationError
		if !errors.As(err, &ve) || len(ve.Violations) != 1 || !strings.Contains(ve.Violations[0].Message, want) {
			t.Errorf("%.40s: %v, want %s", in, err, want)
		}
	}
	for _, in := range []string{"", " \n", "null", "{}", "{ }"} {
		if got, err := v.Validate("t", json.RawMessage(in)); err != nil || string(got) != "{}" {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
}

func TestValidateLeavesArgumentsAlone(t *testing.T) {
	v := property(t, `{"type":"integer"}`)
	in := []byte(`{"p":"1"}`)
	kept := slices.Clone(in)
	got, err := v.Validate("t", in)
	if err != nil || string(in) != string(kept) {
		t.Fatalf("%s, %v", in, err)
	}
	for i := range in {
		in[i] = 'x'
	}
	if string(got) != `{"p":1}` {
		t.Errorf("the result shares memory with the arguments: %s", got)
	}
}

// A schema may come from an unknown server: it must not take the process down.
func TestCompileRefusesWhatNeverEnds(t *testing.T) {
	for _, s := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}},"properties":{"p":{"$ref":"#/$defs/a"}}}`,
		`{"$ref":"#/$defs/none"}`, `{"$ref":"https://example.com/schema"}`, `{"$dynamicRef":"#x"}`, `{"properties":{"p":{"$id":"x","$ref":"#"}}}`,
		`{"not":{"$ref":"#"}}`, `{"type":5}`, `{`, `{"pattern":"("}`,
	} {
		if _, err := Compile(json.RawMessage(s)); err == nil {
			t.Errorf("%s compiles", s)
		}
	}
	for _, s := range []string{
		``, `{}`, `true`, `{"properties":{"p":{"$ref":"#"}}}`, `{"$schema":"http://json-schema.org/draft-07/schema","definitions":{"a":{"type":"string"}},"properties":{"p":{"$ref":"#/definitions/a","minLength":9}}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, `{"properties":{"a/b":{"type":"string"},"p":{"$ref":"#/properties/a~1b"}}}`,
	} {
		v, err := Compile(json.RawMessage(s))
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if _, err := v.Validate("t", json.RawMessage(`{"p":{}}`)); strings.Contains(s, `"string"`) != (err != nil) {
			t.Errorf("%s: %v", s, err)
		}
	}
}
