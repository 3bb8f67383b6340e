package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestErrorIsBounded(t *testing.T) {
	v := property(t, `{"type":"array","items":{"type":"integer"}}`)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, in := range map[string]string{
		"many violations": `{"p":[` + strings.Repeat(`"x",`, 100_000) + `1]}`,
		"long text":       `{"p":"` + strings.Repeat("€", 100_000) + `"}`,
		"long key":        `{"` + strings.Repeat("k", 100_000) + `":1}`,
		"deep":            `{"p":` + deep + `}`,
		"invalid":         `{"p":` + strings.Repeat("€", 100_000),
		"not UTF-8":       `{"p":"` + strings.Repeat("\xff", 100_000) + `"}`,
	} {
		_, err := v.Validate("t", json.RawMessage(in))
		if err == nil {
			t.Errorf("%s is valid", name)
			continue
		}
		if text := err.Error(); len(text) > 10_000 || !utf8.ValidString(text) || !strings.HasSuffix(text, fmt.Sprintf("\n... (%d bytes in all)", len(in))) {
			t.Errorf("%s: %d bytes of text: %.200s", name, len(text), text)
		}
	}
}

func TestErrorOfNothing(t *testing.T) {
	v, err := Compile(json.RawMessage(`{"type":"object","required":["path"]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Validate("read", nil)
	want := "Validation failed for tool \"read\":\n  - path: Expected required property\n\nReceived arguments:\n{}"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func FuzzIndent(f *testing.F) {
	for _, s := range []string{`{}`, `{ "a" : [ ] , "b":[1,{"c":"\"{[,"}]}`, `[[],[{}]]`, ` "x" `, `[1, 2]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		s = strings.TrimSpace(s)
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(s), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got, taken := indent(s, 1<<20); got != want.String() || taken != len(s) {
			t.Errorf("indent(%q) = %q, want %q", s, got, want.String())
		}
	})
}
