package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/tool"
)

// What is written is read back, byte for byte when it is written again.
func TestRecordsComeBackAsTheyWere(t *testing.T) {
	code := 3
	for _, r := range []Record{
		UserText("hi \u2028 <b>", 1),
		&User{Content: []tool.Content{tool.Image{Data: []byte("png"), MIMEType: "image/png"}}},
		&Assistant{
			Content: []Block{&Thinking{Text: "t", Signature: "s", Redacted: true}, &Text{Text: "a"}, &ToolCall{ID: "1", Name: "n", Arguments: json.RawMessage(`{"a":1}`)}, &ToolCall{ID: "2", Name: "n", Arguments: json.RawMessage(`{"cut`)}},
			API:     "api", Provider: "p", Model: "m", StopReason: StopToolUse, ErrorMessage: "e", Usage: tool.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.25}, Timestamp: 5,
		},
		&ToolResult{ToolCallID: "1", ToolName: "n", Content: []tool.Content{tool.Text{Text: "x"}}, Details: json.RawMessage(`{"d":[1]}`), Usage: &tool.Usage{Cost: 1}, AddedToolNames: []string{"a"}, IsError: true, Timestamp: 6},
		&BashExecution{Command: "c", Output: "o", ExitCode: &code, Cancelled: true, Truncated: true, FullOutputPath: "/f", ExcludeFromContext: true, Timestamp: 7},
		&Custom{CustomType: "t", Content: []tool.Content{tool.Text{Text: "x"}}, Display: true, Details: json.RawMessage(`1`), Timestamp: 8},
		&BranchSummary{Summary: "s", FromID: "f", Timestamp: 9},
		&CompactionSummary{Summary: "s", TokensBefore: 10, Timestamp: 11},
		&Other{Role: "system", JSON: json.RawMessage(`{"role":"system","content":"x","more":[{}]}`)},
	} {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%T: %v", r, err)
		}
		back, err := UnmarshalRecord(data)
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("%s\n%s", data, diff)
		}
	}
}

func TestOtherFormsAreRead(t *testing.T) {
	for data, want := range map[string]Record{
		`{"role":"user","content":"text"}`: UserText("text", 0),
		`{"role":"user","content":null}`:   &User{},
		`{"role":"user"}`:                  &User{},
		`{"role":"assistant","content":[{"type":"new"}],"usage":{"input":1,"cost":0.5}}`:                   &Assistant{Usage: tool.Usage{Input: 1, Cost: 0.5}},
		`{"role":"toolResult","content":[],"details":null,"usage":{"cost":{"total":2}}}`:                   &ToolResult{Usage: &tool.Usage{Cost: 2}},
		`{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"n","arguments":"\"whole\""}]}`: &Assistant{Content: []Block{&ToolCall{ID: "1", Name: "n", Arguments: json.RawMessage(`"\"whole\""`)}}},
	} {
		got, err := UnmarshalRecord([]byte(data))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", data, err, diff)
		}
	}
	for _, data := range []string{`{}`, `[]`, `x`, `{"role":"user","content":5}`, `{"role":"bashExecution","exitCode":"x"}`, `{"role":"user","content":[{"type":"image","data":"?"}]}`} {
		if r, err := UnmarshalRecord([]byte(data)); err == nil {
			t.Errorf("%s is %v", data, r)
		}
	}
	if _, err := UnmarshalMessage([]byte(`{"role":"system"}`)); err == nil {
		t.Error("a system message is none that a model may see")
	}
}

func TestWhatModelsSeeOfRecords(t *testing.T) {
	code := 2
	for want, r := range map[string]Record{
		"u": UserText("u", 0),
		"":  &BashExecution{Command: "c", ExcludeFromContext: true},
		"The user ran a command:\n```\nls\n```\nIt wrote:\n```\nout\n```\nIt ended with exit code 2.": &BashExecution{Command: "ls", Output: "out\n", ExitCode: &code},
		"The user ran a command:\n```\nls\n```\nIt wrote nothing.\nIt was cancelled.":                 &BashExecution{Command: "ls", Cancelled: true},
		"note": &Custom{Content: []tool.Content{tool.Text{Text: "note"}}},
	} {
		got := ""
		if m, ok := ToModel(r).(*User); ok {
			got = tool.TextOf(m.Content)
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, r := range []Record{&BranchSummary{Summary: "past"}, &CompactionSummary{Summary: "past"}} {
		if m := ToModel(r).(*User); !strings.Contains(tool.TextOf(m.Content), "<summary>\npast\n</summary>") {
			t.Errorf("%T: %v", r, m)
		}
	}
	if ToModel(&Other{Role: "system"}) != nil {
		t.Error("a model sees another program's system message")
	}
}
