package schema

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/tool"
)

type item struct {
	Old string `json:"oldText"`
	New string `json:"newText"`
}

type params struct {
	Path    string   `json:"path" jsonschema:"where"`
	Offset  int      `json:"offset,omitempty"`
	Rate    *float64 `json:"rate,omitempty"`
	Literal bool     `json:"literal,omitempty"`
	Edits   []item   `json:"edits,omitempty"`
}

func define(t *testing.T, s Spec[params]) (tool.Tool, *Validator) {
	t.Helper()
	s.Name = "read"
	if s.Execute == nil {
		s.Execute = func(context.Context, tool.Call, params, tool.Update) (tool.Result, error) { return tool.Result{}, nil }
	}
	tl, err := Define(s)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Compile(tl.Info().Parameters)
	if err != nil {
		t.Fatal(err)
	}
	return tl, v
}

func TestValidateConverts(t *testing.T) {
	_, v := define(t, Spec[params]{})
	for in, want := range map[string]string{
		`{"path":"a"}`:                                       `{"path":"a"}`,
		`{"path":42,"offset":"42"}`:                          `{"path":"42","offset":42}`,
		`{"path":true,"literal":"true"}`:                     `{"path":"true","literal":true}`,
		`{"path":"a","offset":null}`:                         `{"path":"a"}`,
		`{"path":"a","offset":1.0}`:                          `{"path":"a","offset":1}`,
		`{"path":"a","offset":1e2}`:                          `{"path":"a","offset":100}`,
		`{"path":"a","rate":"0.5"}`:                          `{"path":"a","rate":0.5}`,
		`{"path":"a","offset":9007199254740993}`:             `{"path":"a","offset":9007199254740993}`,
		`{"offset":2,"path":"order"}`:                        `{"offset":2,"path":"order"}`,
		`{"path":"a","edits":[{"oldText":1,"newText":"b"}]}`: `{"path":"a","edits":[{"oldText":"1","newText":"b"}]}`,
	} {
		got, err := v.Validate("read", json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("Validate(%s) = %s, %v; want %s", in, got, err, want)
			continue
		}
		if again, err := v.Validate("read", got); err != nil || string(again) != want {
			t.Errorf("a validated value changed: %s, %v", again, err)
		}
	}
}

func TestValidateExplainsEveryViolation(t *testing.T) {
	_, v := define(t, Spec[params]{Adjust: func(s *jsonschema.Schema) {
		s.Properties["offset"].Minimum = jsonschema.Ptr(1.0)
	}})
	for in, want := range map[string][]string{
		`{"offset":20}`:                          {"  - path: Expected required property\n"},
		``:                                       {"  - path: Expected required property\n"},
		`{"path":"a","offset":"abc","more":1}`:   {`  - offset: Expected integer, got "abc"`, "  - more: Unknown property"},
		`{"path":"a","offset":1.5}`:              {"  - offset: Expected integer, got 1.5"},
		`{"path":"a","offset":0}`:                {"  - offset: Expected at least 1, got 0"},
		`{"path":"a","edits":[{"oldText":"x"}]}`: {"  - edits.0.newText: Expected required property"},
		`{"path":null}`:                          {"  - path: Expected string, got null"},
		`[1]`:                                    {"  - Expected object, got array"},
		`{"path":`:                               {"the JSON ends early"},
		`{"path":"a","path":"b"}`:                {`"path" stands twice`},
		`{"path":"a"} x`:                         {"more follows"},
	} {
		_, err := v.Validate("read", json.RawMessage(in))
		var ve *ValidationError
		if !errors.As(err, &ve) {
			t.Errorf("Validate(%s): %v", in, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("Validate(%s):\n%s\nlacks %q", in, err, w)
			}
		}
	}
	_, err := v.Validate("read", json.RawMessage(`{"offset":20}`))
	want := "Validation failed for tool \"read\":\n  - path: Expected required property\n\nReceived arguments:\n{\n  \"offset\": 20\n}"
	if err.Error() != want {
		t.Errorf("text\n%s\nwant\n%s", err, want)
	}
}

func TestAbsentAbilitiesAreAbsent(t *testing.T) {
	bare, _ := define(t, Spec[params]{})
	if _, ok := bare.(tool.ArgumentPreparer); ok {
		t.Error("a spec without Prepare prepares")
	}
	if _, ok := bare.(tool.Reserver); ok {
		t.Error("a spec without Reserve reserves")
	}
	if _, ok := bare.(tool.Prompter); ok {
		t.Error("a spec without a prompt prompts")
	}
	for prepare := range 2 {
		for prompt := range 2 {
			for reserve := range 2 {
				s := Spec[params]{}
				if prepare == 1 {
					s.Prepare = func(r json.RawMessage) (json.RawMessage, error) { return r, nil }
				}
				if prompt == 1 {
					s.Prompt.Snippet = "x"
				}
				if reserve == 1 {
					s.Reserve = func(tool.Call, params) tool.Reservation { return refused{} }
				}
				full, _ := define(t, s)
				_, a := full.(tool.ArgumentPreparer)
				_, b := full.(tool.Prompter)
				_, c := full.(tool.Reserver)
				if a != (prepare == 1) || b != (prompt == 1) || c != (reserve == 1) {
					t.Errorf("%d%d%d: %v %v %v", prepare, prompt, reserve, a, b, c)
				}
			}
		}
	}
}

func TestSchemaOfStruct(t *testing.T) {
	tl, _ := define(t, Spec[params]{})
	var s struct {
		Type                 string
		Required             []string
		AdditionalProperties any
		Properties           map[string]struct{ Type, Description string }
	}
	if err := json.Unmarshal(tl.Info().Parameters, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "object" || len(s.Required) != 1 || s.Properties["rate"].Type != "number" ||
		s.Properties["path"].Description != "where" || s.Properties["edits"].Type != "array" || s.AdditionalProperties == nil {
		t.Errorf("%s", tl.Info().Parameters)
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"path":"a","offset":"7"}`)
	f.Add(`{"path":1e400}`)
	tl, err := Define(Spec[params]{Name: "x", Execute: func(context.Context, tool.Call, params, tool.Update) (tool.Result, error) { return tool.Result{}, nil }})
	if err != nil {
		f.Fatal(err)
	}
	v, err := Compile(tl.Info().Parameters)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := v.Validate("x", json.RawMessage(in))
		var ve *ValidationError
		if err != nil {
			if !errors.As(err, &ve) {
				t.Fatalf("%v is no *ValidationError", err)
			}
			return
		}
		again, err := v.Validate("x", out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%s validated to %s, then to %s, %v", in, out, again, err)
		}
	})
}
