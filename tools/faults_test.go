package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/tool"
)

// faultCase is a call that goes well when nothing fails.
type faultCase struct {
	name, tool string
	plain      bool // without the abilities
	args       string
	// names must stand in the text of a failure.
	names string
	// counted says which paths may fail without failing the call, since what is
	// below a start is counted: "could not be read".
	counted []string
}

func faultCases() []faultCase {
	return []faultCase{
		{name: "read", tool: "read", args: `{"path":"a.txt"}`, names: "a.txt"},
		{name: "read plain", tool: "read", plain: true, args: `{"path":"a.txt"}`, names: "a.txt"},
		{name: "read image", tool: "read", args: `{"path":"p.png"}`, names: "p.png"},
		{name: "read alternative", tool: "read", args: `{"path":"@a.txt"}`, names: "@a.txt"},
		{name: "write", tool: "write", args: `{"path":"a.txt","content":"new\n"}`, names: "a.txt"},
		{name: "write new", tool: "write", args: `{"path":"fresh.txt","content":"new\n"}`, names: "fresh.txt"},
		{name: "write with folders", tool: "write", args: `{"path":"x/y/z.txt","content":"new\n"}`, names: "x/y/z.txt"},
		{name: "write alternative", tool: "write", args: `{"path":"@a.txt","content":"new\n"}`, names: "@a.txt"},
		{name: "edit", tool: "edit", args: `{"path":"a.txt","edits":[{"oldText":"one","newText":"1"},{"oldText":"two","newText":"2"}]}`, names: "a.txt"},
		{name: "edit alternative", tool: "edit", args: `{"path":"@a.txt","edits":[{"oldText":"one","newText":"1"}]}`, names: "a.txt"},
		{name: "write plain", tool: "write", plain: true, args: `{"path":"a.txt","content":"new\n"}`, names: "a.txt"},
		{name: "write new plain", tool: "write", plain: true, args: `{"path":"fresh.txt","content":"new\n"}`, names: "fresh.txt"},
		{name: "write with folders plain", tool: "write", plain: true, args: `{"path":"x/y/z.txt","content":"new\n"}`, names: "x/y/z.txt"},
		{name: "write alternative plain", tool: "write", plain: true, args: `{"path":"@a.txt","content":"new\n"}`, names: "@a.txt"},
		{name: "edit plain", tool: "edit", plain: true, args: `{"path":"a.txt","edits":[{"oldText":"one","newText":"1"},{"oldText":"two","newText":"2"}]}`, names: "a.txt"},
		{name: "edit alternative plain", tool: "edit", plain: true, args: `{"path":"@a.txt","edits":[{"oldText":"one","newText":"1"}]}`, names: "a.txt"},
		{name: "bash", tool: "bash", args: `{"command":"echo out"}`, names: "/ws"},
		{name: "powershell", tool: "powershell", args: `{"command":"echo out"}`, names: "/ws"},
		{
			name: "grep", tool: "grep", args: `{"pattern":"one","path":"d"}`, names: "d",
			counted: []string{"/ws", "/ws/.gitignore", "/ws/d/.gitignore", "/ws/d/f", "/ws/d/sub", "/ws/d/sub/g"},
		},
		{
			name: "grep plain", tool: "grep", plain: true, args: `{"pattern":"one","path":"d"}`, names: "d",
			counted: []string{"/ws", "/ws/.gitignore", "/ws/d/.gitignore", "/ws/d/f", "/ws/d/sub", "/ws/d/sub/g"},
		},
		{name: "grep file", tool: "grep", args: `{"pattern":"one","path":"d/f"}`, names: "d/f"},
		{name: "grep file plain", tool: "grep", plain: true, args: `{"pattern":"one","path":"d/f"}`, names: "d/f"},
		{
			name: "find", tool: "find", args: `{"pattern":"g","path":"d"}`, names: "d",
			counted: []string{"/ws", "/ws/.gitignore", "/ws/d/.gitignore", "/ws/d/sub"},
		},
		{name: "ls", tool: "ls", args: `{"path":"d"}`, names: "d"},
	}
}

func faultMemory(t *testing.T) *opstest.Memory {
	t.Helper()
	m := opstest.NewMemory(opstest.Options{})
	t.Cleanup(func() { _ = m.Close() })
	for name, content := range map[string]string{
		"a.txt": "one\ntwo\n", "d/f": "one\n", "d/sub/g": "one\n", "d/.gitignore": "*.o\n", ".gitignore": "*.log\n",
		"p.png": string(picture(t, 8, 8)),
	} {
		put(t, m, name, content)
	}
	return m
}

func (c faultCase) run(t *testing.T, set ops.Set) (text string, failed bool, err error) {
	t.Helper()
	set.PowerShell = asPOSIX{t, set.Bash}
	if c.plain {
		set.Read, set.Grep, set.Find = plainRead{set.Read}, plainGrep{set.Grep}, plainFind{set.Find}
		set.Write, set.Edit = plainWrite{set.Write}, plainEdit{set.Edit}
	}
	list, err := tools.New(set, []string{c.tool}, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := call.New(call.Options{Tools: func() []tool.Tool { return list }})
	o := x.Do(t.Context(), call.Request{Name: c.tool, Args: json.RawMessage(c.args)}, nil)
	return tool.TextOf(o.Result.Content), o.IsError, o.Err
}

type (
	plainRead  struct{ ops.ReadOperations }
	plainWrite struct{ ops.WriteOperations }
	plainEdit  struct{ ops.EditOperations }
	plainGrep  struct{ ops.GrepOperations }
	plainFind  struct{ ops.FindOperations }
)

// Each operation that a tool calls fails once, at each of its calls. The failure
// surfaces, names what it is about, and leaves nothing behind.
func TestEachOperationFailsOnce(t *testing.T) {
	covered := map[string]map[opstest.Op]bool{}
	total := 0
	for _, c := range faultCases() {
		set, recorder := opstest.Record(faultMemory(t))
		if text, failed, err := c.run(t, set); failed {
			t.Fatalf("%s: without a fault: %s %v", c.name, text, err)
		}
		if covered[c.tool] == nil {
			covered[c.tool] = map[opstest.Op]bool{}
		}
		seen := map[string]int{}
		for _, made := range recorder.Calls() {
			covered[c.tool][made.Op] = true
			skip := seen[string(made.Op)+made.Subject]
			seen[string(made.Op)+made.Subject]++
			for name, err := range injected(made.Subject) {
				for _, after := range []bool{false, true} {
					// Nothing breaks behind a call that failed itself. An effect that
					// happened is an error only where nobody knows that it did.
					if after && made.Err != nil || after && writes(made.Op) && ops.KindOf(err) != ops.KindOutcomeUnknown {
						continue
					}
					total++
					f := opstest.Fault{Op: made.Op, Subject: made.Subject, Skip: skip, Err: err, After: after}
					t.Run(fmt.Sprintf("%s/%s %s %d/%s %v", c.name, made.Op, made.Subject, skip, name, after), func(t *testing.T) {
						c.strike(t, f)
					})
				}
			}
		}
	}
	t.Logf("%d faults", total)
	for _, missing := range uncovered(covered) {
		t.Errorf("no fault was put into %s", missing)
	}
}

// writes reports whether an operation changes a file.
func writes(op opstest.Op) bool {
	return op == opstest.OpWriteFile || op == opstest.OpEditFile || op == opstest.OpWriteTree
}

// injected are the errors that an operation may return.
func injected(p string) map[string]error {
	way := func(kind ops.Kind) error {
		return &ops.TransportError{Kind: kind, Target: "ssh://host", Msg: "the way to ssh://host is broken"}
	}
	return map[string]error{
		"io":       &fs.PathError{Op: "x", Path: p, Err: errors.New("input/output error")},
		"denied":   &fs.PathError{Op: "x", Path: p, Err: fs.ErrPermission},
		"space":    &fs.PathError{Op: "x", Path: p, Err: ops.ErrNoSpace},
		"bare":     errors.New("something odd"),
		"way":      way(ops.KindUnavailable),
		"unknown":  way(ops.KindOutcomeUnknown),
		"deadline": context.DeadlineExceeded,
	}
}

func (c faultCase) strike(t *testing.T, f opstest.Fault) {
	t.Helper()
	m := faultMemory(t)
	before := contents(t, m)
	text, failed, err := c.run(t, opstest.Inject(m, f))
	if f.Op == opstest.OpAccess && c.tool == "write" && errors.Is(f.Err, fs.ErrPermission) {
		if failed {
			t.Errorf("%s", text)
		}
		return // what can't be read may be written: the access was no more than a question for the name
	}
	for _, p := range c.counted {
		// One file of many is counted; a failed way to all of them is an error.
		if f.Subject == p && f.Op != opstest.OpStat && ops.KindOf(f.Err) == "" {
			if !strings.Contains(text, "1 path could not be read") {
				t.Errorf("is not told: %s", text)
			}
			return
		}
	}
	if !failed || !errors.Is(err, f.Err) {
		t.Fatalf("is taken for a success, or lost: %v %s", err, text)
	}
	shell := c.tool == "bash" || c.tool == "powershell"
	unknown := ops.KindOf(f.Err) == ops.KindOutcomeUnknown
	if own := shell && unknown; !own && !strings.Contains(text, c.names) { // a command's own sentence stands
		t.Errorf("%q does not name %s", text, c.names)
	} else if unknown && !shell && !strings.Contains(text, "It is unknown whether") {
		t.Errorf("%q does not say that nobody knows", text)
	}
	after := contents(t, m)
	if f.Op == opstest.OpWriteFile && f.Skip > 0 && strings.Contains(text, "The folders above it exist now.") || f.Op == opstest.OpMkdirAll && f.After {
		delete(after, "x/")
		delete(after, "x/y/")
	}
	if writes(f.Op) && f.After {
		return // done, and said to be unknown
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("an effect remains: %s", d)
	}
}

// uncovered lists the methods of each tool's interface that no fault was put into.
func uncovered(covered map[string]map[opstest.Op]bool) []string {
	methods := map[string]opstest.Op{
		"Access": opstest.OpAccess, "ReadFile": opstest.OpReadFile, "ReadWindow": opstest.OpReadWindow, "Open": opstest.OpOpen,
		"MkdirAll": opstest.OpMkdirAll, "WriteFile": opstest.OpWriteFile, "Stat": opstest.OpStat, "ReadDir": opstest.OpReadDir, "Exec": opstest.OpExec,
		"EditFile": opstest.OpEditFile, "WriteTree": opstest.OpWriteTree,
	}
	unused := map[string]bool{
		"edit Access": true, // ReadFile refuses what Access would, in one way there and back
		"ls Stat":     true, // ReadDir does
	}
	var missing []string
	for name, of := range map[string]reflect.Type{
		"read": reflect.TypeFor[interface {
			ops.ReadOperations
			ops.WindowReader
		}](),
		"write": reflect.TypeFor[interface {
			ops.WriteOperations
			ops.TreeWriter
		}](),
		"edit": reflect.TypeFor[interface {
			ops.EditOperations
			ops.Editor
		}](),
		"bash": reflect.TypeFor[ops.BashOperations](), "powershell": reflect.TypeFor[ops.PowerShellOperations](),
		"grep": reflect.TypeFor[interface {
			ops.GrepOperations
			ops.Opener
		}](),
		"find": reflect.TypeFor[ops.FindOperations](), "ls": reflect.TypeFor[ops.LsOperations](),
	} {
		for i := range of.NumMethod() {
			method := of.Method(i).Name
			op, known := methods[method]
			if key := name + " " + method; !known || covered[name][op] == unused[key] {
				missing = append(missing, key)
			}
		}
	}
	return missing
}
