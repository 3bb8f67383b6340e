package textout

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// writeIn writes raw in random pieces and looks in between.
func writeIn(a *Accumulator, raw string, r *rand.Rand, longest int) {
	for len(raw) > 0 {
		n := min(1+r.IntN(1+r.IntN(longest)), len(raw))
		_, _ = a.Write([]byte(raw[:n]))
		raw = raw[n:]
		a.Snapshot()
	}
}

func accumulated(raw string, l Limits) Snapshot {
	a := NewAccumulator(l)
	_, _ = a.Write([]byte(raw))
	a.Flush()
	return a.Snapshot()
}

// short reports whether no line of raw ever outgrows what is kept of one line;
// beyond that an accumulator forgets, and the reference does not.
func short(raw string, l Limits) bool {
	for line := range strings.SplitSeq(raw, "\n") {
		if len(line) > 2*l.Bytes {
			return false
		}
	}
	return true
}

// Any way to cut a stream into writes gives what the whole gives
// (hazards TRUN-04, BASH-09).
func TestTRUN04ChunkingChangesNothing(t *testing.T) {
	r := seeded(t)
	compared := 0
	for range 6000 {
		limits := Limits{Lines: 1 + r.IntN(9), Bytes: 1 + r.IntN(100)}
		raw := randomOutput(r, 80)
		whole := accumulated(raw, limits)
		a := NewAccumulator(limits)
		writeIn(a, raw, r, 300)
		a.Flush()
		if d := cmp.Diff(whole, a.Snapshot()); d != "" {
			t.Fatalf("output %q, limits %+v:\n%s", raw, limits, d)
		}
		if !short(raw, limits) {
			continue
		}
		compared++
		if d := cmp.Diff(reference(raw, limits), whole); d != "" {
			t.Fatalf("output %q, limits %+v:\n%s", raw, limits, d)
		}
	}
	if compared < 500 {
		t.Errorf("only %d outputs were compared with the reference", compared)
	}
}

// A write that is much longer than the limits, whose end is rewritten later.
func TestTRUN04SkippingKeepsWhatMayBeShown(t *testing.T) {
	r := seeded(t)
	limits := Limits{Lines: 20, Bytes: 200}
	for range 2000 {
		head := strings.Repeat([]string{"y\n", "a line\n", "\n", "x€\n", "\x1b[1mb\x1b[0m\n", "£\n"}[r.IntN(6)], r.IntN(400))
		tail := strings.Repeat([]string{"tail\n", "t", "\n", "plain text\n"}[r.IntN(4)], r.IntN(90))
		end := []string{"", "\rdone\n", "\b\b\b", "\n", "\r\n", "more"}[r.IntN(6)]
		raw := randomOutput(r, 4) + head + tail + end
		a := NewAccumulator(limits)
		_, _ = a.Write([]byte(raw[:len(raw)-len(end)]))
		_, _ = a.Write([]byte(end))
		a.Flush()
		if d := cmp.Diff(reference(raw, limits), a.Snapshot()); d != "" {
			t.Fatalf("output %q:\n%s", raw, d)
		}
	}
}

func TestTRUN04NoReplacementCharacterInValidText(t *testing.T) {
	raw := strings.Repeat("€😀", 100)
	for cut := range len(raw) {
		a := NewAccumulator(Limits{Bytes: 64})
		_, _ = a.Write([]byte(raw[:cut]))
		if s := a.Snapshot(); strings.ContainsRune(s.Text, utf8.RuneError) {
			t.Fatalf("cut at %d: %+v before the rest came", cut, s)
		}
		_, _ = a.Write([]byte(raw[cut:]))
		s := a.Snapshot()
		if strings.ContainsRune(s.Text, utf8.RuneError) || len(s.Text) > 64 || !s.PartialLine {
			t.Fatalf("cut at %d: %+v", cut, s)
		}
	}
}

func TestTRUN04InvalidBytesAreMarked(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb":        "a\uFFFDb",
		"cut \xe2\x82":  "cut \uFFFD\uFFFD",
		"\xc3(":         "\uFFFD(",
		"\xf0\x9f\x98x": "\uFFFD\uFFFD\uFFFDx",
	} {
		for cut := range len(in) {
			a := NewAccumulator(Limits{})
			_, _ = a.Write([]byte(in[:cut]))
			_, _ = a.Write([]byte(in[cut:]))
			a.Flush()
			if got := a.Snapshot().Text; got != want {
				t.Errorf("%q cut at %d: %q, want %q", in, cut, got, want)
			}
		}
	}
}

func TestBASH09ProgressCollapsesAndErrorStays(t *testing.T) {
	a := NewAccumulator(Limits{})
	for i := range 5001 {
		_, _ = fmt.Fprintf(a, "\r%d%%", i)
	}
	_, _ = fmt.Fprint(a, "\r\n\x1b[31mERROR: x\x1b[0m\n")
	if got, want := a.Snapshot().Text, "5000%\nERROR: x"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestBASH09LastStateOfALine(t *testing.T) {
	for in, want := range map[string]string{
		"50%\r100%\r\nend": "100%\nend",
		"50%\r":            "50%",
		"ab\b\bc":          "c",
		"x_\bX\n":          "xX",
		"\b\bq":            "q",
		"a\tb":             "a\tb",
		"long text\rab":    "ab",
		"a\r\x1b[K\n":      "a",
		"one\r\r\ntwo":     "one\ntwo",
	} {
		if got := accumulated(in, Limits{}).Text; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTRUN01MemoryIsBounded(t *testing.T) {
	for name, block := range map[string]string{
		"lines": strings.Repeat("y\n", 50_000), "one line": strings.Repeat("z", 100_000), "empty lines": strings.Repeat("\n", 100_000),
		"endless sequence": "\x1b]" + strings.Repeat("q", 100_000), "utf-8": strings.Repeat("é\n", 30_000), "returns": strings.Repeat("ab\r", 30_000),
		"parameters": "\x1b[" + strings.Repeat("1;", 50_000), "device control": "\x1bP" + strings.Repeat("q\n", 50_000),
		"introducers": strings.Repeat("\x1b]", 50_000), "C1 introducers": strings.Repeat("\u009d", 50_000), "long utf-8 line": strings.Repeat("€", 30_000),
	} {
		a := NewAccumulator(Limits{})
		for range 50 {
			_, _ = a.Write([]byte(block))
		}
		size := cap(a.lines) + cap(a.line) + cap(a.cleaner.held) + cap(a.scratch)
		if size > 8*DefaultMaxBytes {
			t.Errorf("%s: %d bytes are held", name, size)
		}
	}
}

func TestTRUN01EndlessSequenceIsText(t *testing.T) {
	text := strings.Repeat("q", 3*maxSequence)
	s := accumulated("\x1b]"+text+"\nend\n", Limits{Bytes: 1 << 20})
	if want := "]" + text + "\nend"; s.Text != want {
		t.Errorf("%d bytes of text, want %d", len(s.Text), len(want))
	}
}

func TestTruncatedBy(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want Snapshot
	}{
		"nothing":   {"", Snapshot{}},
		"fits":      {"a\nb\n", Snapshot{Text: "a\nb", TotalLines: 2, TotalBytes: 4, FirstLine: 1, LastLine: 2}},
		"no end":    {"a\nb", Snapshot{Text: "a\nb", TotalLines: 2, TotalBytes: 3, FirstLine: 1, LastLine: 2}},
		"empty":     {"\n\n", Snapshot{Text: "\n", TotalLines: 2, TotalBytes: 2, FirstLine: 1, LastLine: 2}},
		"lines":     {"1\n2\n3\n4\n", Snapshot{Text: "2\n3\n4", TotalLines: 4, TotalBytes: 8, FirstLine: 2, LastLine: 4, Truncated: true, ByLines: true}},
		"bytes":     {"123456\n12345\n", Snapshot{Text: "12345", TotalLines: 2, TotalBytes: 13, FirstLine: 2, LastLine: 2, Truncated: true, ByBytes: true}},
		"exact":     {"1234\n12345", Snapshot{Text: "1234\n12345", TotalLines: 2, TotalBytes: 10, FirstLine: 1, LastLine: 2}},
		"partial":   {"a\n12345678901\n", Snapshot{Text: "2345678901", TotalLines: 2, TotalBytes: 14, FirstLine: 2, LastLine: 2, Truncated: true, ByBytes: true, PartialLine: true}},
		"long then": {"12345678901\nb\n", Snapshot{Text: "b", TotalLines: 2, TotalBytes: 14, FirstLine: 2, LastLine: 2, Truncated: true, ByBytes: true}},
	} {
		if d := cmp.Diff(c.want, accumulated(c.raw, Limits{Lines: 3, Bytes: 10})); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestDropIsCounted(t *testing.T) {
	a := NewAccumulator(Limits{})
	_, _ = a.Write([]byte("one\ntwo\npart \xe2"))
	a.Drop(1000, 10)
	_, _ = a.Write([]byte("\x82\xac" + "end\n"))
	want := Snapshot{Text: "end", TotalLines: 13, TotalBytes: 1020, FirstLine: 13, LastLine: 13, Truncated: true, Dropped: 1000}
	if d := cmp.Diff(want, a.Snapshot()); d != "" {
		t.Error(d)
	}
	a.Drop(5, 0) // within a line
	_, _ = a.Write([]byte("rest\n"))
	if s := a.Snapshot(); s.Text != "rest" || s.TotalLines != 14 || s.ByLines || s.ByBytes {
		t.Errorf("%+v", s)
	}
}

func BenchmarkAccumulator(b *testing.B) {
	for name, text := range map[string]string{
		"yes": "y\n", "log": "2024-01-02 03:04:05 INFO request served in 12 ms path=/index.html\n",
		"colour": "\x1b[32mok\x1b[0m  package/name\t0.012s some more text in this line\n", "utf8": "Zeile mit Umlauten: äöü und €\n",
		"progress": "\r 50% of something", "one line": "no line feed at all ",
	} {
		for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dK", name, size>>10), func(b *testing.B) {
				block := []byte(strings.Repeat(text, size/len(text)))
				b.SetBytes(int64(len(block)))
				a := NewAccumulator(Limits{})
				for b.Loop() {
					_, _ = a.Write(block)
				}
			})
		}
	}
}
