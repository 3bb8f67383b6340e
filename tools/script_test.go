package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// scriptsOn is what runs a script tool on a local folder with each shell of this machine.
func scriptOutcome(t *testing.T, command string, args args) call.Outcome {
	t.Helper()
	w, err := local.Open(t.Context(), local.Options{Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	made, err := tools.NewScript(w.Set(), tools.ScriptSpec{
		Name: "mine", Command: command,
		Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"}},"required":["text"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	x := call.New(call.Options{Tools: func() []tool.Tool { return []tool.Tool{made} }})
	return x.Do(t.Context(), call.Request{ID: "1", Name: "mine", Args: raw}, nil)
}

func TestScriptToolsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		want    string // of the content
		details string
	}{
		"text":        {`echo '{"content": "hello", "details": {"n": 1}}'`, "hello", `{"n":1}`},
		"blocks":      {`echo '{"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "text", "text": "b"}]}'`, "a\nb", "null"},
		"nothing":     {`echo '{}'`, "", "null"},
		"diagnostics": {`echo working >&2; echo '{"content": "done"}'; echo more >&2`, "done", "null"},
		"pretty":      {"printf '{\\n  \"content\":\\n \"x\"\\n}\\n\\n'", "x", "null"},
		"a comment":   {`echo '{"content": "x"}' # nothing more`, "x", "null"},
		"no reader":   {`exec <&-; echo '{"content": "x"}'`, "x", "null"},
	} {
		o := scriptOutcome(t, c.command, args{"text": "t"})
		details, err := json.Marshal(o.Result.Details)
		if o.IsError || err != nil || tool.TextOf(o.Result.Content) != c.want || string(details) != c.details {
			t.Errorf("%s: %q %s, %v", name, tool.TextOf(o.Result.Content), details, o.Err)
		}
		if len(o.Result.Effects) != 1 || o.Result.Effects[0].Command != c.command {
			t.Errorf("%s: effects %+v", name, o.Result.Effects)
		}
	}
}

// What a model sends arrives as it is, and is never taken for code.
func TestScriptToolsGetTheirArguments(t *testing.T) {
	for _, text := range []string{
		"plain", "", "'; touch hacked; '", "$(touch hacked)", "`touch hacked`", "two\nlines\nEOF\n", `back\slash "quoted"`, "\u2028 \u00e4 \U0001F600 </script>", "%s %d \\n", strings.Repeat("long ", 30_000),
	} {
		o := scriptOutcome(t, `printf '{"content": "", "details": {"got": %s, "hacked": "%s"}}' "$(cat)" "$(ls hacked 2>/dev/null)"`, args{"text": text, "count": 2})
		raw, err := json.Marshal(o.Result.Details)
		var details struct {
			Got struct {
				Text  string
				Count int
			}
			Hacked string
		}
		if err == nil {
			err = json.Unmarshal(raw, &details)
		}
		if o.IsError || err != nil || details.Got.Text != text || details.Got.Count != 2 || details.Hacked != "" {
			t.Errorf("%.40q arrives as %.80q, %v: %v", text, details.Got.Text, err, o.Err)
		}
	}
}

func TestScriptToolsFail(t *testing.T) {
	for name, c := range map[string]struct{ command, want string }{
		"isError":       {`echo '{"content": "no such thing", "isError": true}'; echo why >&2`, "mine: no such thing\nwhy"},
		"an exit code":  {`echo lost >&2; echo '{"content": "x"}'; exit 3`, "Command exited with code 3\nlost"},
		"no JSON":       {`echo hello`, "its answer is no JSON object"},
		"nothing":       {`true`, "its answer is no JSON object"},
		"another value": {`echo '[1]'`, "its answer is no JSON object"},
		"two objects":   {`echo '{} {}'`, "its answer is no JSON object"},
		"a block":       {`echo '{"content": [{"type": "sound"}]}'`, `type "sound": text and image are known`},
		"too much":      {`head -c 5000000 /dev/zero | tr '\0' x`, "it wrote more than 4.0MB"},
		"a signal":      {`kill -9 $$`, "signal KILL"},
		"syntax":        {`if`, "Command exited with code"},
	} {
		o := scriptOutcome(t, c.command, args{"text": "t"})
		if text := tool.TextOf(o.Result.Content); !o.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	if o := scriptOutcome(t, "touch ran", args{"count": 1}); !o.IsError || o.Executed {
		t.Errorf("arguments that do not fit: %+v", o)
	}
}

func TestScriptToolsAreChecked(t *testing.T) {
	set := ops.Set{}
	for _, s := range []tools.ScriptSpec{
		{Name: "x", Command: "true"}, {Name: "x"}, {Command: "true"}, {Name: "x", Command: "a\x00"}, {Name: "x", Command: "true", Parameters: json.RawMessage(`{`)},
	} {
		if made, err := tools.NewScript(set, s); err == nil || made != nil || !strings.Contains(err.Error(), "script tool") {
			t.Errorf("%+v: %v, %v", s, made, err)
		}
	}
}
