package supervisor

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStartSurvivesTheChannel(t *testing.T) {
	for _, s := range []Start{
		{},
		{Marker: "A=b", Keep: true, Dir: "/x y", Program: "/bin/sh", Args: []string{"-c", "", "a\nb\xff"}, Env: []string{"A=b", "C="}},
		{Program: "p", Env: []string{"A=1"}},
	} {
		m, err := Read(bytes.NewReader(s.Message().Encode()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.start()
		if diff := cmp.Diff(s, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func TestMalformedMessagesAreErrors(t *testing.T) {
	for name, raw := range map[string]string{
		"cut header":  "s\x01",
		"cut body":    "s\x05\x00\x00\x00ab",
		"no NUL":      "s\x02\x00\x00\x00ab",
		"too long":    "s\xff\xff\xff\xff",
		"few fields":  string(Message{KindStart, []string{"", "", ""}}.Encode()),
		"few args":    string(Message{KindStart, []string{"", "", "", "p", "3", "x"}}.Encode()),
		"minus args":  string(Message{KindStart, []string{"", "", "", "p", "-1", "x"}}.Encode()),
		"other kind":  string(Message{KindEnd, []string{"", "", "", "p", "0"}}.Encode()),
		"no body":     string(Message{KindStart, nil}.Encode()),
		"huge number": string(Message{KindStart, []string{"", "", "", "p", "9223372036854775807"}}.Encode()),
	} {
		m, err := Read(bytes.NewReader([]byte(raw)))
		if err == nil {
			_, err = m.start()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Read(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Start{Program: "p", Args: []string{"a"}, Env: []string{"A=b"}}.Message().Encode())
	f.Add([]byte("E\x04\x00\x00\x001\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(m.Encode()))
		if diff := cmp.Diff(m, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		_, _, _ = m.Int(0), m.Left(), m.Text(9)
		_, _ = m.start() // must not panic
	})
}
