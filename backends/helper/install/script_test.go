package install

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The words that start the helper pass any login shell in single quotes, and hold
// nothing that must not be seen in a list of processes.
func TestSSHX06WordsSurviveSingleQuotesOfAnyShell(t *testing.T) {
	packed, err := Pack([]byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	var b Bundle
	for _, arch := range Arches() {
		p, err := NewProgram("linux", arch, packed)
		if err != nil {
			t.Fatal(err)
		}
		b.programs = append(b.programs, p)
	}
	m := newMarker()
	words := argv(b, m, "serve")
	if len(words) != 3 || words[0] != "/bin/sh" || words[1] != "-c" {
		t.Errorf("%q", words)
	}
	text := words[2]
	for _, bad := range []string{"'", "\n", "!", `\`, "\r", "\t", m.String()} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("it holds %q: %s", bad, text[max(0, i-40):min(len(text), i+10)])
		}
	}
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			t.Errorf("it holds %q", c)
		}
	}
	if len(text) > 8<<10 {
		t.Errorf("it has %d bytes", len(text))
	}
	if n := newMarker(); n == m {
		t.Error("two markers are the same")
	}
}

func TestAnswersAreFoundAmongNoise(t *testing.T) {
	m := marker{"0123456789abcdef", "fedcba9876543210"}
	for in, want := range map[string]string{
		m.String() + " ok a b\nrest":                        "ok|a b|rest",
		"noise" + m.String() + " ok x\n":                    "ok|x|",
		m[0] + m[0] + m[1] + " no why \n\x00":               "no|why|\x00",
		strings.Repeat("0", 31) + m.String() + " need\nr":   "need||r",
		strings.Repeat("x\n", 100_000) + m.String() + "\n":  "||",
		m.String() + " " + strings.Repeat("y", 5000) + "\n": strings.Repeat("y", maxLine-1) + "||",
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			a := newAnswers(r, m)
			verb, rest, err := a.next()
			left, rerr := io.ReadAll(a.reader)
			if got := verb + "|" + rest + "|" + string(left); err != nil || rerr != nil || got != want {
				t.Errorf("%.80q: %.80q, %v, want %.80q", in, got, err, want)
			}
		}
	}
	if _, _, err := newAnswers(zeros{}, m).next(); !errors.Is(err, errNoise) {
		t.Errorf("endless noise: %v", err)
	}
	if _, _, err := newAnswers(io.MultiReader(strings.NewReader(m.String()), zeros{}), m).next(); !errors.Is(err, errNoise) {
		t.Errorf("an endless answer: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Whatever comes, it ends, memory is bounded, and an answer is never made of noise.
func FuzzAnswers(f *testing.F) {
	m := marker{"0123456789abcdef", "fedcba9876543210"}
	f.Add([]byte("noise\n" + m.String() + " ok a\nrest"))
	f.Add([]byte(m[0] + m[0] + m[1] + " need linux amd64 gzip\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a := newAnswers(bytes.NewReader(in), m)
		verb, _, err := a.next()
		i := bytes.Index(in, []byte(m.String()))
		whole := i >= 0 && bytes.IndexByte(in[i:], '\n') >= 0
		if (err == nil) != whole && len(in) < maxNoise {
			t.Errorf("%q: %q, %v", in, verb, err)
		}
		if err == nil {
			line, rest, _ := bytes.Cut(in[i+len(m.String()):], []byte("\n"))
			if left, err := io.ReadAll(a.reader); err != nil || !bytes.Equal(left, rest) {
				t.Errorf("after %q: %q is left, %v", line, left, err)
			}
		}
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tail Tail
	for _, part := range []string{"first", strings.Repeat("x", maxTail), "last"} {
		if n, err := io.WriteString(&tail, part); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if s := tail.String(); len(s) != maxTail || !strings.HasSuffix(s, "xlast") {
		t.Errorf("%d bytes, %.20q", len(s), s[len(s)-20:])
	}
}
