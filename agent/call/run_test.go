package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/tool"
)

func TestFailureKeepsDetailsAndEffects(t *testing.T) {
	broken := errors.New("disk full")
	x := with(Options{}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
		return tool.Result{
			Content: []tool.Content{tool.Text{Text: "Wrote it."}}, Details: 7, Terminate: true, Effects: []tool.Effect{{Operation: "write"}},
		}, fmt.Errorf("write a: %w", broken)
	}})
	o := x.Do(t.Context(), request(`{"path":"a"}`), nil)
	if tool.TextOf(o.Result.Content) != "write a: disk full" || !o.IsError || !o.Executed || !errors.Is(o.Err, broken) ||
		o.Result.Details != 7 || len(o.Result.Effects) != 1 || o.Result.Terminate {
		t.Errorf("%+v", o)
	}
}

func TestPanicIsContained(t *testing.T) {
	o := with(Options{}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
		panic("index out of range")
	}}).Do(t.Context(), request(`{"path":"a"}`), nil)
	if got := tool.TextOf(o.Result.Content); got != "tool write panicked: index out of range" || !o.IsError || !o.Executed {
		t.Errorf("%q, %+v", got, o)
	}
	o = with(Options{}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
		runtime.Goexit()
		return tool.Result{}, nil
	}}).Do(t.Context(), request(`{"path":"a"}`), nil)
	if got := tool.TextOf(o.Result.Content); got != "tool write ended its goroutine and gave no result" || !o.IsError || !o.Executed {
		t.Errorf("%q, %+v", got, o)
	}
	o = with(Options{}, reserver{fake: fake{name: "write"}, broken: true}).Do(t.Context(), request(`{"path":"a"}`), nil)
	if got := tool.TextOf(o.Result.Content); got != "tool write panicked: no queue" || !o.IsError || o.Executed {
		t.Errorf("%q, %+v", got, o)
	}
}

func TestAfterHookPatches(t *testing.T) {
	yes, no := true, false
	content := []tool.Content{tool.Text{Text: "patched"}}
	var details any = "more"
	var nothing any
	for name, c := range map[string]struct {
		patch *Patch
		err   error // of the tool
		want  Outcome
	}{
		"none":               {nil, nil, Outcome{Result: tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Details: 1, Terminate: true}}},
		"empty":              {&Patch{}, nil, Outcome{Result: tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Details: 1, Terminate: true}}},
		"content":            {&Patch{Content: &content}, nil, Outcome{Result: tool.Result{Content: content, Details: 1, Terminate: true}}},
		"details":            {&Patch{Details: &details}, nil, Outcome{Result: tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Details: "more", Terminate: true}}},
		"no details":         {&Patch{Details: &nothing}, nil, Outcome{Result: tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Terminate: true}}},
		"usage":              {&Patch{Usage: &tool.Usage{Input: 3}}, nil, Outcome{Result: tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Details: 1, Usage: &tool.Usage{Input: 3}, Terminate: true}}},
		"an error":           {&Patch{IsError: &yes, Terminate: &no}, nil, Outcome{Result: tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Details: 1}, IsError: true}},
		"an error forgiven":  {&Patch{Content: &content, IsError: &no}, errors.New("x"), Outcome{Result: tool.Result{Content: content, Details: 1}}},
		"an error explained": {&Patch{Content: &content}, errors.New("x"), Outcome{Result: tool.Result{Content: content, Details: 1}, IsError: true}},
	} {
		t.Run(name, func(t *testing.T) {
			x := with(Options{After: []AfterHook{func(_ context.Context, _ Request, _ tool.Result, isError bool) (*Patch, error) {
				if isError != (c.err != nil) {
					t.Errorf("the hook hears %v", isError)
				}
				return c.patch, nil
			}}}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				return tool.Result{Content: []tool.Content{tool.Text{Text: "ran"}}, Details: 1, Terminate: true}, c.err
			}})
			o := x.Do(t.Context(), request(`{"path":"a"}`), nil)
			if d := cmp.Diff(c.want.Result, o.Result); d != "" || o.IsError != c.want.IsError || !o.Executed {
				t.Errorf("%+v\n%s", o, d)
			}
		})
	}
}

func TestAfterHookFailure(t *testing.T) {
	broken, first := errors.New("the redactor broke"), errors.New("disk full")
	for name, hook := range map[string]AfterHook{
		"error": func(context.Context, Request, tool.Result, bool) (*Patch, error) { return nil, broken },
		"panic": func(context.Context, Request, tool.Result, bool) (*Patch, error) { panic(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			heard := 0
			x := with(Options{After: []AfterHook{hook, func(_ context.Context, _ Request, r tool.Result, isError bool) (*Patch, error) {
				heard++
				if !isError || strings.Contains(tool.TextOf(r.Content), "secret") {
					t.Errorf("the next hook hears %v, %v", isError, r.Content)
				}
				return nil, nil
			}}}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				return tool.Result{Content: []tool.Content{tool.Text{Text: "secret"}}, Terminate: true}, first
			}})
			o := x.Do(t.Context(), request(`{"path":"a"}`), nil)
			text := tool.TextOf(o.Result.Content)
			if !strings.Contains(text, broken.Error()) || strings.Contains(text, "secret") || !o.IsError || !o.Executed || heard != 1 ||
				!errors.Is(o.Err, first) {
				t.Errorf("%q, %+v", text, o)
			}
			// A success that votes for the end of the run loses its vote too.
			x = with(Options{After: []AfterHook{hook}}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				return tool.Result{Content: []tool.Content{tool.Text{Text: "done"}}, Terminate: true}, nil
			}})
			if o := x.Do(t.Context(), request(`{"path":"a"}`), nil); !o.IsError || o.Result.Terminate || tool.TextOf(o.Result.Content) == "done" {
				t.Errorf("%+v", o)
			}
		})
	}
}

// reserver is a tool with a queue: it records who came when.
type reserver struct {
	fake
	order  *[]string
	broken bool
}

type place struct {
	reserver
	call tool.Call
}

func (r reserver) Reserve(c tool.Call) tool.Reservation {
	if r.broken {
		panic("no queue")
	}
	*r.order = append(*r.order, "reserve "+c.ID)
	return place{r, c}
}

func (p place) Execute(ctx context.Context, update tool.Update) (tool.Result, error) {
	*p.order = append(*p.order, "execute "+p.call.ID)
	return p.reserver.Execute(ctx, p.call, update)
}

func (p place) Release() { *p.order = append(*p.order, "release "+p.call.ID) }

func TestReserveOrder(t *testing.T) {
	var order []string
	x := with(Options{Before: []BeforeHook{func(_ context.Context, r Request) (Decision, error) {
		return Decision{Block: r.ID == "blocked"}, nil
	}}}, reserver{fake: fake{name: "write"}, order: &order})
	var batch []*Prepared
	for _, id := range []string{"1", "blocked", "2", "3"} {
		p := x.Prepare(t.Context(), Request{ID: id, Name: "write", Args: json.RawMessage(`{"path":"a"}`)})
		p.Reserve()
		p.Reserve() // takes no second place
		batch = append(batch, p)
	}
	if batch[1].Immediate() == nil || batch[0].Immediate() != nil {
		t.Error("only the blocked call has an outcome before it runs")
	}
	aborted, cancel := context.WithCancel(t.Context())
	cancel()
	if o := x.Run(aborted, batch[3], nil); o.Executed || !errors.Is(o.Err, ErrAborted) || !errors.Is(o.Err, context.Canceled) {
		t.Errorf("%+v", o)
	}
	for _, i := range []int{2, 1, 0} {
		x.Run(t.Context(), batch[i], nil)
	}
	batch[0].Release() // after Run there is nothing to give up
	if d := cmp.Diff([]string{"reserve 1", "reserve 2", "reserve 3", "release 3", "execute 2", "execute 1"}, order); d != "" {
		t.Error(d)
	}
}

func TestAbortedBeforeItRuns(t *testing.T) {
	cause := errors.New("the user pressed escape")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	o := with(Options{}, never(t)).Do(ctx, request(`{"path":"a"}`), nil)
	if tool.TextOf(o.Result.Content) != "Operation aborted" || !errors.Is(o.Err, ErrAborted) || !errors.Is(o.Err, cause) || o.Executed || !o.IsError {
		t.Errorf("%+v", o)
	}
}

func TestLOOP03StalledToolIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		x := with(Options{Grace: 3 * time.Second}, fake{name: "write", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
			<-release
			return tool.TextResult("late"), nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		o := x.Do(ctx, request(`{"path":"a"}`), nil)
		text := tool.TextOf(o.Result.Content)
		if took := time.Since(start); took != 4*time.Second || !strings.Contains(text, "may still be running") || !o.Executed ||
			!errors.Is(o.Err, context.DeadlineExceeded) {
			t.Errorf("after %v: %+v", took, o)
		}
		close(release)
	})
}

func TestEVNT02UpdatesEndWithTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late tool.Update
		var ended atomic.Bool
		var mu sync.Mutex
		var got []string
		broken := errors.New("the screen is gone")
		x := with(Options{After: []AfterHook{func(context.Context, Request, tool.Result, bool) (*Patch, error) {
			ended.Store(true)
			return nil, nil
		}}}, fake{name: "write", run: func(_ context.Context, _ tool.Call, update tool.Update) (tool.Result, error) {
			late = update
			start := time.Now()
			for i := range 50 {
				update(tool.TextResult(fmt.Sprint(i)))
			}
			if time.Since(start) != 0 {
				t.Error("the tool waited for its listener")
			}
			return tool.TextResult("done"), nil
		}})
		o := x.Do(t.Context(), request(`{"path":"a"}`), func(r tool.Result) error {
			<-time.After(time.Second) // a slow listener
			if ended.Load() {
				t.Error("an update came after the end")
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, tool.TextOf(r.Content))
			switch len(got) {
			case 1:
				return broken
			case 2:
				panic("listener")
			}
			return nil
		})
		if len(got) != 5 || got[4] != "49" {
			t.Errorf("delivered %v: the newest is missing", got)
		}
		if !errors.Is(o.UpdateErr, broken) || !strings.Contains(fmt.Sprint(o.UpdateErr), "panicked: listener") || o.IsError ||
			tool.TextOf(o.Result.Content) != "done" {
			t.Errorf("%+v", o)
		}
		late(tool.TextResult("too late"))
		if len(got) != 5 || o.LateUpdates() != 1 {
			t.Errorf("delivered %v, late %d", got, o.LateUpdates())
		}
	})
}

type preparer struct{ fake }

func (preparer) PrepareArguments(args json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(args), "refuse") {
		return nil, errors.New("an old shape that can't be adapted")
	}
	return json.RawMessage(strings.Replace(string(args), "file_path", "path", 1)), nil
}

func TestOldShapesArePreparedBeforeValidation(t *testing.T) {
	x := with(Options{}, preparer{fake{name: "write"}})
	if o := x.Do(t.Context(), request(`{"file_path":"a"}`), nil); tool.TextOf(o.Result.Content) != `{"path":"a"}` || o.IsError {
		t.Errorf("%+v", o)
	}
	if o := x.Do(t.Context(), request(`{"refuse":"a"}`), nil); !o.IsError || o.Executed ||
		tool.TextOf(o.Result.Content) != "arguments of write: an old shape that can't be adapted" {
		t.Errorf("%+v", o)
	}
}
