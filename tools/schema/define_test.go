package schema

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/tool"
)

type everything struct {
	Zeta  string            `json:"zeta" jsonschema:"comes first"`
	Alpha *int              `json:"alpha,omitempty"`
	Small int8              `json:"small,omitzero"`
	Items []item            `json:"items"`
	Env   map[string]*bool  `json:"env,omitempty"`
	Tags  map[string][]item `json:"tags,omitempty"`
	Free  any               `json:"free,omitempty"`
	Gone  string            `json:"-"`
}

func TestDefineDerivesTheSchema(t *testing.T) {
	tl, err := Define(Spec[everything]{Name: "x", Execute: func(context.Context, tool.Call, everything, tool.Update) (tool.Result, error) {
		return tool.Result{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	const edit = `{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"],"additionalProperties":false}`
	want := `{"type":"object","properties":{"zeta":{"type":"string","description":"comes first"},"alpha":{"type":"integer"},` +
		`"small":{"type":"integer","minimum":-128,"maximum":127},"items":{"type":"array","items":` + edit + `},` +
		`"env":{"type":"object","additionalProperties":{"type":"boolean"}},` +
		`"tags":{"type":"object","additionalProperties":{"type":"array","items":` + edit + `}},"free":true},` +
		`"required":["zeta","items"],"additionalProperties":false}`
	normal := func(raw []byte) (v any) {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if d := cmp.Diff(normal([]byte(want)), normal(tl.Info().Parameters)); d != "" {
		t.Errorf("%s\n%s", tl.Info().Parameters, d)
	}
	value, err := decode(tl.Info().Parameters)
	if err != nil {
		t.Fatal(err)
	}
	properties, ok := value.(*object).values["properties"].(*object)
	if !ok {
		t.Fatal("no properties")
	}
	if d := cmp.Diff([]string{"zeta", "alpha", "small", "items", "env", "tags", "free"}, properties.keys); d != "" {
		t.Errorf("the order of the struct is lost: %s", d)
	}
}

func TestDefineRefusesWrongSpecs(t *testing.T) {
	run := func(context.Context, tool.Call, params, tool.Update) (tool.Result, error) { return tool.Result{}, nil }
	for name, s := range map[string]Spec[params]{
		"no name":     {Execute: run},
		"no function": {Name: "x"},
		"bad schema":  {Name: "x", Execute: run, Adjust: func(s *jsonschema.Schema) { s.Properties["path"].Pattern = "(" }},
	} {
		if _, err := Define(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Define(Spec[[]string]{Name: "x", Execute: func(context.Context, tool.Call, []string, tool.Update) (tool.Result, error) {
		return tool.Result{}, nil
	}}); err == nil {
		t.Error("parameters that are a list: no error")
	}
}

func TestExecuteReceivesTypedParams(t *testing.T) {
	var got params
	var reserved params
	done := errors.New("done")
	tl, _ := define(t, Spec[params]{
		Execute: func(_ context.Context, call tool.Call, p params, _ tool.Update) (tool.Result, error) {
			got = p
			return tool.TextResult(call.ID), done
		},
		Reserve: func(_ tool.Call, p params) tool.Reservation {
			reserved = p
			return refused{done}
		},
	})
	call := tool.Call{ID: "1", Args: json.RawMessage(`{"path":"a","offset":3,"edits":[{"oldText":"x","newText":"y"}]}`)}
	r, err := tl.Execute(t.Context(), call, nil)
	want := params{Path: "a", Offset: 3, Edits: []item{{"x", "y"}}}
	if d := cmp.Diff(want, got); d != "" || !errors.Is(err, done) || tool.TextOf(r.Content) != "1" {
		t.Errorf("%s, %v, %v", d, r, err)
	}
	reserver, ok := tl.(tool.Reserver)
	if !ok {
		t.Fatal("no tool.Reserver")
	}
	if _, err := reserver.Reserve(call).Execute(t.Context(), nil); !errors.Is(err, done) {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(want, reserved); d != "" {
		t.Error(d)
	}
	// More than the Go type holds is explained like any other violation.
	call.Args = json.RawMessage(`{"path":"a","offset":1000000000000000000000}`)
	_, err = tl.Execute(t.Context(), call, nil)
	_, err2 := reserver.Reserve(call).Execute(t.Context(), nil)
	for _, err := range []error{err, err2} {
		var ve *ValidationError
		if !errors.As(err, &ve) || ve.Violations[0].Path != "offset" {
			t.Errorf("%v", err)
		}
	}
}
