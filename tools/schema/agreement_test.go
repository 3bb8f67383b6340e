package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// randomValue writes a JSON value of the kinds that tools get.
func randomValue(r *rand.Rand, depth int) string {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		return "null"
	case 1:
		return []string{"true", "false"}[r.IntN(2)]
	case 2:
		return []string{"0", "1", "-3", "1.5", "2.0", "1e2", "7"}[r.IntN(7)]
	case 3, 4:
		return []string{`""`, `"a"`, `"ab"`, `"5"`, `"true"`, `"1.5"`}[r.IntN(6)]
	case 5, 6:
		var members []string
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(2) == 0 {
				members = append(members, fmt.Sprintf("%q:%s", name, randomValue(r, max(depth-1, 0))))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	var items []string
	for range r.IntN(4) {
		items = append(items, randomValue(r, depth-1))
	}
	return "[" + strings.Join(items, ",") + "]"
}

func randomSchema(r *rand.Rand, depth int) string {
	var keywords []string
	add := func(format string, args ...any) { keywords = append(keywords, fmt.Sprintf(format, args...)) }
	sub := func() string { return randomSchema(r, depth-1) }
	kinds := 11
	if depth == 0 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		add(`"type":"string"`)
		add("%s", []string{`"minLength":1`, `"maxLength":1`, `"enum":["a","5"]`, `"pattern":"^a"`}[r.IntN(4)])
	case 1:
		add(`"type":%q`, []string{"integer", "number"}[r.IntN(2)])
		add("%s", []string{`"minimum":1`, `"maximum":1.5`, `"exclusiveMinimum":1`, `"exclusiveMaximum":7`, `"multipleOf":2`}[r.IntN(5)])
	case 2:
		add(`"type":"boolean"`)
	case 3:
		add(`"type":["string","null"]`)
	case 4:
		add(`"enum":[1,"a",null,true]`)
	case 5:
		if r.IntN(4) == 0 {
			add(`"not":{}`)
		}
	case 6, 7:
		add(`"type":"object","properties":{"a":%s,"b":%s}`, sub(), sub())
		add("%s", []string{`"required":["a"]`, `"additionalProperties":false`, `"additionalProperties":` + sub(), `"minProperties":1`}[r.IntN(4)])
	case 8:
		add(`"type":"array","items":%s`, sub())
		add("%s", []string{`"minItems":1`, `"maxItems":2`, `"uniqueItems":true`}[r.IntN(3)])
	case 9:
		add(`"anyOf":[%s,%s]`, sub(), sub())
	case 10:
		add(`%q:[%s,%s]`, []string{"oneOf", "allOf"}[r.IntN(2)], sub(), sub())
	}
	return "{" + strings.Join(keywords, ",") + "}"
}

// agree holds a validator against the library: what validates, the library
// takes, and validating it again changes nothing; what the library takes as it
// stands, validates. A refusal is a *ValidationError that names the tool.
func agree(t *testing.T, text, in string) (valid bool) {
	t.Helper()
	v, err := Compile(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	library, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(raw []byte) error {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return err
		}
		return library.Validate(value)
	}
	out, err := v.Validate("t", json.RawMessage(in))
	if err != nil {
		var own *ValidationError
		if !errors.As(err, &own) || own.Tool != "t" || len(own.Violations) == 0 || own.Error() == "" {
			t.Fatalf("%s\nis refused by %T: %v", in, err, err)
		}
		if _, derr := decode(json.RawMessage(in)); derr == nil && judge([]byte(in)) == nil {
			t.Fatalf("%s\nis valid for\n%s\nbut: %v", in, text, err)
		}
		return false
	}
	if err := judge(out); err != nil {
		t.Fatalf("%s\nbecame %s\nfor %s\n%v", in, out, text, err)
	}
	if again, err := v.Validate("t", out); err != nil || string(again) != string(out) {
		t.Fatalf("%s\nbecame %s, then %s, %v\nfor %s", in, out, again, err, text)
	}
	return true
}

func TestValidatorAgreesWithTheLibrary(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	valid, refused := 0, 0
	for range 4000 {
		text := fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s}}`, randomSchema(r, 2), randomSchema(r, 1))
		if agree(t, text, fmt.Sprintf(`{"a":%s,"b":%s}`, randomValue(r, 3), randomValue(r, 2))) {
			valid++
		} else {
			refused++
		}
	}
	if valid < 400 || refused < 400 {
		t.Errorf("%d valid and %d refused say little", valid, refused)
	}
}

// FuzzCoercion takes any arguments and a schema that the seed makes.
func FuzzCoercion(f *testing.F) {
	for i, in := range []string{
		`{"a":"5","b":"true"}`, `{"a":[1,"2",null]}`, `{"a":{"b":"1e3"}}`, `{"a":"[1,2]","b":"{}"}`, `{"a":1e999}`, `[1]`, ``, `{"a":"\ud800"}`,
		`{"a":-0,"b":1.0}`, `{"b":0.1e1,"a":12345678901234567890}`, "{\"a\":\"\xff\"}",
	} {
		f.Add(uint64(i), in)
	}
	f.Fuzz(func(t *testing.T, seed uint64, in string) {
		r := rand.New(rand.NewPCG(seed, 7))
		agree(t, fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s}}`, randomSchema(r, 2), randomSchema(r, 1)), in)
	})
}

// The decoder takes what encoding/json takes, but for its own bounds.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}],"c":"\u00e9"}`, `[1,]`, `{"a":1,}`, `{"a" 1}`, `[1 2]`, `{,}`, `"\ud800"`, `-`, `1e5`, `{"a":01}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		value, err := decode(json.RawMessage(s))
		if err == nil && !json.Valid([]byte(s)) {
			t.Fatalf("%q is no JSON", s)
		}
		if err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) && json.Valid([]byte(s)) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if slow, err := explained(json.RawMessage(s)); err != nil || !same(value, slow) {
			t.Fatalf("%q is %v, by tokens %v, %v", s, value, slow, err)
		}
		out, err := encode(value)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(out)
		if err != nil || !same(value, again) {
			t.Fatalf("%q became %s: %v", s, out, err)
		}
	})
}
