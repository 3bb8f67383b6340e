package call

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a tool that takes a path and a limit.
type fake struct {
	name string
	run  func(ctx context.Context, c tool.Call, update tool.Update) (tool.Result, error)
}

const parameters = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}`

func (f fake) Info() tool.Info {
	return tool.Info{Declaration: tool.Declaration{Name: f.name, Parameters: json.RawMessage(parameters)}}
}

func (f fake) Execute(ctx context.Context, c tool.Call, update tool.Update) (tool.Result, error) {
	if f.run == nil {
		return tool.TextResult(string(c.Args)), nil
	}
	return f.run(ctx, c, update)
}

// with returns an executor of these tools.
func with(o Options, list ...tool.Tool) *Executor {
	o.Tools = func() []tool.Tool { return list }
	return New(o)
}

// never fails the test if it runs.
func never(t *testing.T) fake {
	return fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
		t.Error("the tool ran")
		return tool.Result{}, nil
	}}
}

func request(args string) Request {
	return Request{ID: "1", Name: "write", Args: json.RawMessage(args)}
}

func TestUnknownTool(t *testing.T) {
	for name, c := range map[string]struct {
		tools []tool.Tool
		want  string
	}{
		"none":          {nil, `Tool "write" not found: no tools are active`},
		"others":        {[]tool.Tool{fake{name: "read"}, fake{name: "ls"}}, `Tool "write" not found. Available tools: read, ls`},
		"another case":  {[]tool.Tool{fake{name: "Write"}}, `Tool "write" not found. Available tools: Write`},
		"a longer name": {[]tool.Tool{fake{name: "write2"}}, `Tool "write" not found. Available tools: write2`},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(Options{}, c.tools...).Do(t.Context(), request(`{"path":"a"}`), nil)
			if got := tool.TextOf(o.Result.Content); got != c.want || !o.IsError || o.Executed || o.Denied || o.Args != nil || o.Err == nil {
				t.Errorf("%q, %+v", got, o)
			}
		})
	}
}

// Arguments that don't fit, cut ones among them, run nothing and come back as
// they were said (hazard PROV-01).
func TestPROV01BadArgumentsDoNotRun(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{`{"path":[7]}`, []string{"write", "path", "7"}},
		{`{}`, []string{"write", "path"}},
		{`{"path":"a","limit":"many","other":1}`, []string{"limit", "other"}}, // all at once
		{`{"path":"a","content":"half`, []string{"write", `{"path":"a","content":"half`}},
		{`{"path":"a"}{"path":"b"}`, []string{"write"}},
		{``, []string{"write"}},
		{`[]`, []string{"write"}},
		{`null`, []string{"write"}},
	} {
		o := with(Options{
			Input: []InputHook{func(context.Context, Request) (json.RawMessage, error) {
				t.Errorf("%s: a hook saw what did not validate", c.args)
				return nil, nil
			}},
			After: []AfterHook{func(context.Context, Request, tool.Result, bool) (*Patch, error) {
				t.Errorf("%s: a hook saw a result of what did not run", c.args)
				return nil, nil
			}},
		}, never(t)).Do(t.Context(), request(c.args), nil)
		text := tool.TextOf(o.Result.Content)
		var ve *schema.ValidationError
		if !o.IsError || o.Executed || !errors.As(o.Err, &ve) {
			t.Errorf("%s: %+v", c.args, o)
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q lacks %q", c.args, text, part)
			}
		}
	}
}

func TestHookOrder(t *testing.T) {
	var order []string
	input := func(name, changed string) InputHook {
		return func(_ context.Context, r Request) (json.RawMessage, error) {
			order = append(order, name+" "+string(r.Args))
			if changed == "" {
				return nil, nil
			}
			return json.RawMessage(changed), nil
		}
	}
	before := func(name string) BeforeHook {
		return func(_ context.Context, r Request) (Decision, error) {
			order = append(order, name+" "+string(r.Args))
			return Decision{}, nil
		}
	}
	after := func(name string) AfterHook {
		return func(_ context.Context, r Request, result tool.Result, _ bool) (*Patch, error) {
			order = append(order, name+" "+string(r.Args)+" "+tool.TextOf(result.Content))
			content := []tool.Content{tool.Text{Text: name}}
			return &Patch{Content: &content}, nil
		}
	}
	x := with(Options{
		Input:  []InputHook{input("i1", ""), input("i2", `{"path":"b"}`), input("i3", "")},
		Before: []BeforeHook{before("b1"), before("b2")},
		After:  []AfterHook{after("a1"), after("a2")},
	}, fake{name: "write", run: func(_ context.Context, c tool.Call, _ tool.Update) (tool.Result, error) {
		order = append(order, "run "+string(c.Args))
		return tool.TextResult("ran"), nil
	}})
	o := x.Do(t.Context(), request(`{"path":"a"}`), nil)
	if d := cmp.Diff([]string{
		`i1 {"path":"a"}`, `i2 {"path":"a"}`, `i3 {"path":"b"}`,
		`b1 {"path":"b"}`, `b2 {"path":"b"}`,
		`run {"path":"b"}`,
		`a1 {"path":"b"} ran`, `a2 {"path":"b"} a1`,
	}, order); d != "" {
		t.Error(d)
	}
	if !o.Executed || o.IsError || string(o.Args) != `{"path":"b"}` || tool.TextOf(o.Result.Content) != "a2" {
		t.Errorf("%+v", o)
	}
}

func TestLOOP02ChangedInputIsValidatedAgain(t *testing.T) {
	for _, changed := range []string{`{"path":"a","limit":"abc"}`, `{"limit":1}`, `{"path":"a","evil":1}`, `{"path":`, `[]`} {
		x := with(Options{
			Input: []InputHook{
				func(context.Context, Request) (json.RawMessage, error) { return json.RawMessage(changed), nil },
				func(context.Context, Request) (json.RawMessage, error) {
					t.Errorf("%s: the next hook saw it", changed)
					return nil, nil
				},
			},
			Before: []BeforeHook{func(context.Context, Request) (Decision, error) {
				t.Errorf("%s: the policy was asked", changed)
				return Decision{}, nil
			}},
		}, never(t))
		o := x.Do(t.Context(), request(`{"path":"a"}`), nil)
		var ve *schema.ValidationError
		if !o.IsError || o.Executed || !errors.As(o.Err, &ve) {
			t.Errorf("%s: %+v", changed, o)
		}
	}
}

// What the policy approved is, byte for byte, what runs, whoever keeps and
// changes the slices.
func TestLOOP02ApprovedBytesRun(t *testing.T) {
	kept := json.RawMessage(`{"path":"b"}`)
	said := json.RawMessage(`{"path":"a"}`)
	spoil := func(args json.RawMessage) {
		for i := range args {
			args[i] = 'x'
		}
	}
	var approved string
	x := with(Options{
		Input: []InputHook{
			func(_ context.Context, r Request) (json.RawMessage, error) {
				spoil(r.Args)
				return nil, nil
			},
			func(context.Context, Request) (json.RawMessage, error) { return kept, nil },
		},
		Before: []BeforeHook{
			func(_ context.Context, r Request) (Decision, error) {
				approved = string(r.Args)
				spoil(r.Args)
				return Decision{}, nil
			},
			func(context.Context, Request) (Decision, error) {
				spoil(kept)
				spoil(said)
				return Decision{}, nil
			},
		},
		After: []AfterHook{func(_ context.Context, r Request, _ tool.Result, _ bool) (*Patch, error) {
			spoil(r.Args)
			return nil, nil
		}},
	}, fake{name: "write", run: func(_ context.Context, c tool.Call, _ tool.Update) (tool.Result, error) {
		defer spoil(c.Args)
		return tool.TextResult(string(c.Args)), nil
	}})
	o := x.Do(t.Context(), Request{ID: "1", Name: "write", Args: said}, nil)
	if got := tool.TextOf(o.Result.Content); got != `{"path":"b"}` || got != approved || string(o.Args) != approved {
		t.Errorf("approved %s, ran %s, told %s", approved, got, o.Args)
	}
}

func TestBlocked(t *testing.T) {
	for name, c := range map[string]struct {
		decision Decision
		want     string
	}{
		"a reason":   {Decision{Block: true, Reason: "not on Sundays"}, "not on Sundays"},
		"no reason":  {Decision{Block: true}, `Tool "write" was blocked`},
		"terminates": {Decision{Block: true, Reason: "enough", Terminate: true}, "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			x := with(Options{
				Before: []BeforeHook{
					func(context.Context, Request) (Decision, error) { return c.decision, nil },
					func(context.Context, Request) (Decision, error) {
						t.Error("the next hook was asked")
						return Decision{}, nil
					},
				},
				After: []AfterHook{func(context.Context, Request, tool.Result, bool) (*Patch, error) {
					t.Error("an after hook saw a call that did not run")
					return nil, nil
				}},
			}, never(t))
			o := x.Do(t.Context(), request(`{"path":"a"}`), nil)
			var denied *DeniedError
			if !o.IsError || !o.Denied || o.Executed || !errors.As(o.Err, &denied) || o.Result.Terminate != c.decision.Terminate ||
				tool.TextOf(o.Result.Content) != c.want {
				t.Errorf("%+v", o)
			}
		})
	}
	t.Run("a reason without a block lets it run", func(t *testing.T) {
		x := with(Options{Before: []BeforeHook{func(context.Context, Request) (Decision, error) {
			return Decision{Reason: "fine"}, nil
		}}}, fake{name: "write"})
		if o := x.Do(t.Context(), request(`{"path":"a"}`), nil); o.IsError || !o.Executed {
			t.Errorf("%+v", o)
		}
	})
}

// A hook that fails or panics lets nothing through.
func TestHookFailureBlocks(t *testing.T) {
	broken := errors.New("the policy file is gone")
	for name, o := range map[string]Options{
		"input error":  {Input: []InputHook{func(context.Context, Request) (json.RawMessage, error) { return nil, broken }}},
		"before error": {Before: []BeforeHook{func(context.Context, Request) (Decision, error) { return Decision{}, broken }}},
		"input panic":  {Input: []InputHook{func(context.Context, Request) (json.RawMessage, error) { panic(broken) }}},
		"before panic": {Before: []BeforeHook{func(context.Context, Request) (Decision, error) { panic(broken) }}},
	} {
		t.Run(name, func(t *testing.T) {
			got := with(o, never(t)).Do(t.Context(), request(`{"path":"a"}`), nil)
			text := tool.TextOf(got.Result.Content)
			if !got.IsError || got.Executed || !strings.Contains(text, broken.Error()) || !strings.Contains(text, "write") {
				t.Errorf("%q, %+v", text, got)
			}
			if strings.HasSuffix(name, "error") && !errors.Is(got.Err, broken) {
				t.Errorf("the cause is lost: %v", got.Err)
			}
		})
	}
}
