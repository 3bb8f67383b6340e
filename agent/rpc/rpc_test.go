package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/agent/rpc"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/tools/tool"
)

// record is a line that came out.
type record map[string]any

func (r record) str(key string) string { s, _ := r[key].(string); return s }

// client drives a server in this process.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	done  chan error
	ended atomic.Bool
	seen  []record // that were read and not yet asked for
}

func start(t *testing.T, script string, change func(*session.Options)) *client {
	t.Helper()
	parsed, err := scripted.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	o := session.Options{
		Model: session.Model{Provider: parsed.Provider(nil), Info: session.ModelInfo{Provider: "scripted", ID: "test", Input: []string{"text"}}},
		Bash: func(ctx context.Context, command string, output func(string)) (session.BashResult, error) {
			output("out of " + command)
			if command == "sleep" {
				<-ctx.Done()
				return session.BashResult{Cancelled: true}, nil
			}
			code := 0
			return session.BashResult{Output: "out of " + command, ExitCode: &code}, nil
		},
		Compaction: session.CompactionOptions{KeepRecent: 2},
	}
	if change != nil {
		change(&o)
	}
	s, err := session.New(o)
	if err != nil {
		t.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &client{t: t, in: inWrite, out: bufio.NewReader(outRead), done: make(chan error, 1)}
	go func() {
		err := rpc.Serve(context.WithoutCancel(t.Context()), rpc.Options{Session: s, In: inRead, Out: outWrite})
		_ = outWrite.Close()
		c.done <- err
	}()
	t.Cleanup(func() {
		if !c.ended.Load() {
			c.end()
		}
	})
	return c
}

// end closes the input and reads to the end of the output.
func (c *client) end() {
	c.t.Helper()
	c.ended.Store(true)
	_ = c.in.Close()
	for {
		r, err := c.next()
		if err != nil {
			break
		}
		c.seen = append(c.seen, r)
	}
	if err := <-c.done; err != nil {
		c.t.Errorf("Serve returned %v", err)
	}
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() (record, error) {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		c.t.Fatalf("%s is no record: %v", line, err)
	}
	return r, nil
}

// until reads up to a record that ok accepts; the ones before it are kept.
func (c *client) until(what string, ok func(record) bool) record {
	c.t.Helper()
	for i, r := range c.seen {
		if ok(r) {
			c.seen = append(c.seen[:i:i], c.seen[i+1:]...)
			return r
		}
	}
	for {
		r, err := c.next()
		if err != nil {
			c.t.Fatalf("no %s came: %v; there was %v", what, err, c.seen)
		}
		if ok(r) {
			return r
		}
		c.seen = append(c.seen, r)
	}
}

func (c *client) event(kind string) record {
	c.t.Helper()
	return c.until(kind, func(r record) bool { return r.str("type") == kind })
}

// response is that to a command of an id.
func (c *client) response(id string) record {
	c.t.Helper()
	return c.until("response to "+id, func(r record) bool { return r.str("type") == "response" && r.str("id") == id })
}

var ids atomic.Int64 //nolint:gochecknoglobals // names commands

// do runs a command; fields are JSON members. It returns the response's data.
func (c *client) do(kind, fields string) any {
	c.t.Helper()
	r := c.ask(kind, fields)
	if r["success"] != true || r.str("command") != kind {
		c.t.Fatalf("%s: %v", kind, r)
	}
	return r["data"]
}

func (c *client) ask(kind, fields string) record {
	c.t.Helper()
	id := fmt.Sprintf("r%d", ids.Add(1))
	line := fmt.Sprintf(`{"id":%q,"type":%q`, id, kind)
	if fields != "" {
		line += "," + fields
	}
	c.send(line + "}")
	return c.response(id)
}

func (c *client) refused(kind, fields, why string) {
	c.t.Helper()
	if r := c.ask(kind, fields); r["success"] != false || !strings.Contains(r.str("error"), why) {
		c.t.Errorf("%s %s: %v, want an error with %q", kind, fields, r, why)
	}
}

func object(t *testing.T, v any) record {
	t.Helper()
	o, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%v is no object", v)
	}
	return o
}

// Every command of the wire is answered.
func TestEveryCommand(t *testing.T) {
	c := start(t, "turns:\n- text: one\n- text: two\n- text: gist\n", nil)
	if d := object(t, c.do("prompt", `"message":"hello"`)); d["disposition"] != "started" {
		t.Errorf("the prompt is %v", d)
	}
	c.event("agent_settled")
	c.do("prompt", `"message":"more","images":[{"type":"image","data":"aGk=","mimeType":"image/png"}]`)
	c.event("agent_settled")

	state := object(t, c.do("get_state", ""))
	for key, want := range map[string]any{
		"isStreaming": false, "isCompacting": false, "steeringMode": "one-at-a-time", "followUpMode": "one-at-a-time", "thinkingLevel": "off",
		"autoCompactionEnabled": true, "messageCount": 4.0, "pendingMessageCount": 0.0,
	} {
		if state[key] != want {
			t.Errorf("%s is %v, want %v", key, state[key], want)
		}
	}
	if model := object(t, state["model"]); model["id"] != "test" || model["provider"] != "scripted" {
		t.Errorf("the model is %v", model)
	}
	if list, _ := object(t, c.do("get_messages", ""))["messages"].([]any); len(list) != 4 {
		t.Errorf("the messages are %v", list)
	}
	if d := object(t, c.do("get_last_assistant_text", "")); d["text"] != "two" {
		t.Errorf("the last text is %v", d)
	}
	c.do("set_steering_mode", `"mode":"all"`)
	c.do("set_follow_up_mode", `"mode":"all"`)
	c.do("set_auto_compaction", `"enabled":false`)
	c.do("set_auto_retry", `"enabled":true`)
	c.do("set_session_name", `"name":" work "`)
	state = object(t, c.do("get_state", ""))
	if state["steeringMode"] != "all" || state["followUpMode"] != "all" || state["autoCompactionEnabled"] != false || state["sessionName"] != "work" {
		t.Errorf("the state is %v", state)
	}
	if e := c.event("session_info_changed"); e["name"] != "work" {
		t.Errorf("the event is %v", e)
	}
	if d := object(t, c.do("get_available_models", "")); len(d["models"].([]any)) != 1 {
		t.Errorf("the models are %v", d)
	}
	c.do("set_model", `"provider":"scripted","modelId":"test"`)
	if d := c.do("cycle_model", ""); d != nil {
		t.Errorf("one model was cycled to %v", d)
	}
	if d := object(t, c.do("get_available_thinking_levels", "")); fmt.Sprint(d["levels"]) != "[off]" {
		t.Errorf("the levels are %v", d)
	}
	c.do("set_thinking_level", `"level":"off"`)
	if d := c.do("cycle_thinking_level", ""); d != nil {
		t.Errorf("one level was cycled to %v", d)
	}
	if d := object(t, c.do("bash", `"command":"ls"`)); d["output"] != "out of ls" || d["exitCode"] != 0.0 || d["cancelled"] != false || d["truncated"] != false {
		t.Errorf("the command ended by %v", d)
	}
	if e := c.event("bash_execution_update"); e["delta"] != "out of ls" || !strings.HasPrefix(e.str("id"), "r") {
		t.Errorf("the event is %v", e)
	}
	c.do("abort_bash", "")
	c.do("abort_retry", "")
	c.do("abort", "")
	if d := object(t, c.do("clear_queue", "")); fmt.Sprint(d["steering"], d["followUp"]) != "[] []" {
		t.Errorf("the queues are %v", d)
	}
	if d := object(t, c.do("get_session_stats", "")); d["userMessages"] != 2.0 || d["assistantMessages"] != 2.0 || object(t, d["tokens"])["total"] == nil {
		t.Errorf("the numbers are %v", d)
	}
	if d := object(t, c.do("get_commands", "")); len(d["commands"].([]any)) != 0 {
		t.Errorf("the commands are %v", d)
	}
	entries := object(t, c.do("get_entries", ""))
	list := entries["entries"].([]any)
	last := object(t, list[len(list)-1])
	if entries["leafId"] != last["id"] || last["type"] != "message" {
		t.Errorf("the entries end with %v, the leaf is %v", last, entries["leafId"])
	}
	since := fmt.Sprintf(`"since":%q`, object(t, list[len(list)-2]).str("id"))
	if d := object(t, c.do("get_entries", since)); len(d["entries"].([]any)) != 1 {
		t.Errorf("since: %v", d)
	}
	if d := object(t, c.do("get_tree", "")); len(d["tree"].([]any)) != 1 {
		t.Errorf("the tree is %v", d)
	}
	if d := object(t, c.do("compact", `"customInstructions":"short"`)); d["summary"] != "gist" || d["firstKeptEntryId"] == "" {
		t.Errorf("the compaction is %v", d)
	}
	c.event("compaction_end")
	if d := object(t, c.do("clone", "")); d["cancelled"] != false {
		t.Errorf("the clone is %v", d)
	}
	said := object(t, c.do("get_fork_messages", ""))["messages"].([]any)
	if d := object(t, c.do("fork", fmt.Sprintf(`"entryId":%q`, object(t, said[1]).str("entryId")))); d["text"] != "more" || d["cancelled"] != false {
		t.Errorf("the fork is %v", d)
	}
	if d := object(t, c.do("new_session", "")); d["cancelled"] != false {
		t.Errorf("the new session is %v", d)
	}
	if d := object(t, c.do("get_last_assistant_text", "")); d["text"] != nil {
		t.Errorf("a new session has the text %v", d)
	}
	if d := object(t, c.do("steer", `"message":"later"`)); d["disposition"] != "queued" {
		t.Errorf("steering is %v", d)
	}
	if d := object(t, c.do("follow_up", `"message":"last"`)); d["disposition"] != "queued" {
		t.Errorf("the follow-up is %v", d)
	}
}

func TestWhatIsWrongIsAnswered(t *testing.T) {
	c := start(t, "turns:\n- text: one\n", nil)
	c.send("{not json")
	if r := c.event("response"); r["success"] != false || r["command"] != "parse" || r["id"] != nil {
		t.Errorf("bad JSON: %v", r)
	}
	c.send(`[1,2]`)
	if r := c.event("response"); r["success"] != false || r["command"] != "parse" {
		t.Errorf("a list: %v", r)
	}
	c.refused("make_coffee", "", "Unknown command: make_coffee")
	c.refused("prompt", `"message":""`, "nothing in the message")
	c.refused("prompt", `"message":"x","streamingBehavior":"shout"`, "shout")
	c.refused("prompt", `"message":"x","images":[{"type":"image","mimeType":"image/png"}]`, "image 1")
	c.refused("set_steering_mode", `"mode":"some"`, "some")
	c.refused("set_auto_retry", "", "enabled")
	c.refused("set_auto_compaction", "", "enabled")
	c.refused("set_thinking_level", `"level":"deep"`, "deep")
	c.refused("set_model", `"provider":"a","modelId":"b"`, "a/b")
	c.refused("set_session_name", `"name":"  "`, "empty")
	c.refused("bash", "", "command")
	c.refused("fork", `"entryId":"zzz"`, "zzz")
	c.refused("get_entries", `"since":"zzz"`, "zzz")
	c.refused("switch_session", "", "sessionPath")
	c.refused("switch_session", `"sessionPath":"/nowhere/a.jsonl"`, "/nowhere/a.jsonl")
	c.refused("export_html", "", "exported")
	c.refused("compact", "", "short")
	c.send(`{"type":"extension_ui_response","id":"nobody","value":"x"}`)
	c.send(`{"type":"get_state"}` + "\r")
	if r := c.until("response without an id", func(r record) bool { return r.str("command") == "get_state" }); r["success"] != true || r["id"] != nil {
		t.Errorf("a command without an id: %v", r)
	}
}

// Unicode separators inside a record neither end it nor leave it unescaped.
func TestEVNT07SeparatorsStayInsideARecord(t *testing.T) {
	c := start(t, "turns:\n- text: ok\n", nil)
	c.do("prompt", "\"message\":\"a\u2028b\u0085c\"")
	c.event("agent_settled")
	list, _ := object(t, c.do("get_messages", ""))["messages"].([]any)
	line, err := json.Marshal(list[0])
	if err != nil || !bytes.Contains(line, []byte(`a\u2028b`)) {
		t.Errorf("%s, %v", line, err)
	}
}

func TestLongLineIsRefused(t *testing.T) {
	c := start(t, "turns:\n- text: ok\n", nil)
	go func() {
		_, _ = io.WriteString(c.in, `{"type":"prompt","message":"`+strings.Repeat("x", 65<<20)+"\"}\n")
		_, _ = io.WriteString(c.in, `{"type":"get_state","id":"after"}`+"\n")
	}()
	if r := c.event("response"); r["success"] != false || !strings.Contains(r.str("error"), "64 MiB") {
		t.Errorf("%v", r)
	}
	if r := c.response("after"); r["success"] != true {
		t.Errorf("%v", r)
	}
}

// Commands that come one after the other without waiting act in that order, and an
// abort ends what came before it.
func TestCommandsKeepTheirOrder(t *testing.T) {
	c := start(t, "turns:\n- text: slow\n  delay: 1h\n", nil)
	c.send(`{"id":"1","type":"set_session_name","name":"a"}` + "\n" + `{"id":"2","type":"get_state"}` + "\n" +
		`{"id":"3","type":"prompt","message":"go"}` + "\n" + `{"id":"4","type":"follow_up","message":"left"}` + "\n" + `{"id":"5","type":"clear_queue"}` + "\n" + `{"id":"6","type":"abort"}`)
	if d := object(t, c.response("2")["data"]); d["sessionName"] != "a" {
		t.Errorf("the state is %v", d)
	}
	if d := object(t, c.response("5")["data"]); fmt.Sprint(d["followUp"]) != "[left]" {
		t.Errorf("the queues are %v", d)
	}
	if r := c.response("6"); r["success"] != true {
		t.Errorf("abort: %v", r)
	}
	if e := c.event("agent_settled"); e["aborted"] != true {
		t.Errorf("%v", e)
	}
}

func TestQuestionsAreAskedOfTheClient(t *testing.T) {
	dialogs := []session.Dialog{
		{Kind: session.DialogConfirm, Title: "sure?", Message: "really", Timeout: time.Hour},
		{Kind: session.DialogSelect, Title: "which?", Options: []string{"a", "b"}},
		{Kind: session.DialogInput, Title: "name?", Preset: "x"},
		{Kind: session.DialogEditor, Title: "text?", Preset: "y"},
	}
	var answers []session.Answer
	d := session.Definition{
		Info: tool.Info{Declaration: tool.Declaration{Name: "ask", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Execute: func(ctx context.Context, _ tool.Call, _ tool.Update, s *session.Session) (tool.Result, error) {
			for _, d := range dialogs {
				a, err := s.Ask(ctx, d)
				if err != nil {
					return tool.Result{}, err
				}
				answers = append(answers, a)
			}
			return tool.TextResult("asked"), nil
		},
	}
	c := start(t, "turns:\n- toolCalls: [{name: ask}]\n- text: ok\n", func(o *session.Options) { o.Definitions = []session.Definition{d} })
	c.do("prompt", `"message":"go"`)
	for _, answer := range []string{`"confirmed":true`, `"value":"b"`, `"cancelled":true`, `"value":"long"`} {
		r := c.event("extension_ui_request")
		switch r.str("method") {
		case "confirm":
			if r["message"] != "really" || r["timeout"] != 3600000.0 {
				t.Errorf("%v", r)
			}
		case "select":
			if fmt.Sprint(r["options"]) != "[a b]" {
				t.Errorf("%v", r)
			}
		}
		c.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,%s}`, r.str("id"), answer))
	}
	c.event("agent_settled")
	if got := fmt.Sprint(answers); got != "[{ true false} {b false false} { false true} {long false false}]" {
		t.Errorf("the answers are %s", got)
	}
}

// The end of the input ends everything that goes on; each command has its response
// before the output ends.
func TestEndOfInputShutsDownInOrder(t *testing.T) {
	d := session.Definition{
		Info: tool.Info{Declaration: tool.Declaration{Name: "ask", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Execute: func(ctx context.Context, _ tool.Call, _ tool.Update, s *session.Session) (tool.Result, error) {
			_, err := s.Ask(ctx, session.Dialog{Kind: session.DialogConfirm, Title: "sure?"})
			return tool.TextResult("asked"), err
		},
	}
	c := start(t, "turns:\n- toolCalls: [{name: ask}]\n- text: late\n  delay: 1h\n", func(o *session.Options) { o.Definitions = []session.Definition{d} })
	c.do("prompt", `"message":"go"`)
	c.event("extension_ui_request")
	c.send(`{"id":"b","type":"bash","command":"sleep"}`)
	c.event("bash_execution_update")
	c.end()
	if r := c.response("b"); object(t, r["data"])["cancelled"] != true {
		t.Errorf("the command of the person: %v", r)
	}
	if e := c.event("agent_settled"); e["aborted"] != true {
		t.Errorf("%v", e)
	}
}

func TestOutputThatBreaksEndsTheServer(t *testing.T) {
	parsed, err := scripted.Parse("test", []byte("turns:\n- text: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(session.Options{Model: session.Model{Provider: parsed.Provider(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	in, inWrite := io.Pipe()
	out, outWrite := io.Pipe()
	broken := errors.New("the reader is gone")
	_ = out.CloseWithError(broken)
	done := make(chan error, 1)
	go func() { done <- rpc.Serve(t.Context(), rpc.Options{Session: s, In: in, Out: outWrite}) }()
	if _, err := io.WriteString(inWrite, `{"type":"get_state"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, broken) {
		t.Errorf("Serve returned %v", err)
	}
	_ = inWrite.Close()
}
