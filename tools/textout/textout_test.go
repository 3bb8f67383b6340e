package textout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// reference is the plain form of Accumulator: the whole output at once.
func reference(raw string, l Limits) Snapshot {
	l = l.orDefaults()
	var c cleaner
	decoded := string(c.append(nil, []byte(raw), true))
	var lines []string
	line, pending := "", false
	end := func() { lines, line, pending = append(lines, line), "", false }
	for _, r := range decoded {
		switch {
		case r == '\n':
			end()
		case r == '\r':
			pending = true
		case r == '\b':
			if !pending {
				_, n := utf8.DecodeLastRuneInString(line)
				line = line[:len(line)-n]
			}
		case isControl(r):
		default:
			if pending {
				line, pending = "", false
			}
			line += string(r)
		}
	}
	if line != "" {
		end()
	}
	s := Snapshot{TotalLines: int64(len(lines)), LastLine: int64(len(lines)), TotalBytes: int64(len(raw))}
	size, kept := -1, 0
	for i := len(lines) - 1; i >= 0 && kept < l.Lines && size+len(lines[i])+1 <= l.Bytes; i-- {
		size += len(lines[i]) + 1
		kept++
	}
	switch {
	case len(lines) == 0:
		return s
	case kept == 0:
		text := lines[len(lines)-1]
		from := len(text) - l.Bytes
		for !utf8.RuneStart(text[from]) {
			from++
		}
		s.Text, s.PartialLine, kept = text[from:], true, 1
	default:
		s.Text = strings.Join(lines[len(lines)-kept:], "\n")
	}
	s.FirstLine = s.TotalLines - int64(kept) + 1
	s.Truncated = s.FirstLine > 1 || s.PartialLine
	s.ByBytes = s.Truncated && kept < l.Lines
	return s
}

func randomOutput(r *rand.Rand) string {
	pieces := []string{
		"a", "bc", "line of text", "\n", "\n", "\n", "\r", "\r\n", "\b", "\t", "€", "😀", "é", "\x1b[31m", "\x1b[0m", "\x1b]8;;x\x07",
		"\x1b]0;t\x1b\\", "\xff", "\xc3", "\x9b31m", "\u009b1m", "\x00", "\x07", "50%\r", strings.Repeat("x", 40), strings.Repeat("y\n", 30), "\x1b(B", "\u202e",
	}
	var b strings.Builder
	for range r.IntN(60) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// Any way to cut a stream into writes gives what the whole gives
// (hazards TRUN-04, BASH-09).
func TestTRUN04ChunkingChangesNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	limits := Limits{Lines: 7, Bytes: 64}
	for range 4000 {
		raw := randomOutput(r)
		a := NewAccumulator(limits)
		for rest := raw; len(rest) > 0; {
			n := min(1+r.IntN(1+r.IntN(200)), len(rest))
			_, _ = a.Write([]byte(rest[:n]))
			rest = rest[n:]
			a.Snapshot()
		}
		if d := cmp.Diff(reference(raw, limits), a.Snapshot()); d != "" {
			t.Fatalf("output %q:\n%s\n%q\n%q", raw, d, reference(raw, limits).Text, a.Snapshot().Text)
		}
	}
}

func TestTRUN04NoReplacementCharacterInValidText(t *testing.T) {
	raw := strings.Repeat("€😀", 100)
	for cut := range len(raw) {
		a := NewAccumulator(Limits{Bytes: 64})
		_, _ = a.Write([]byte(raw[:cut]))
		_, _ = a.Write([]byte(raw[cut:]))
		s := a.Snapshot()
		if strings.ContainsRune(s.Text, utf8.RuneError) || len(s.Text) > 64 || !s.PartialLine {
			t.Fatalf("cut at %d: %+v", cut, s)
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

func TestTRUN01MemoryIsBounded(t *testing.T) {
	for name, block := range map[string]string{
		"lines": strings.Repeat("y\n", 50_000), "one line": strings.Repeat("z", 100_000), "empty lines": strings.Repeat("\n", 100_000),
		"endless sequence": "\x1b]" + strings.Repeat("q", 100_000), "utf-8": strings.Repeat("é\n", 30_000), "returns": strings.Repeat("ab\r", 30_000),
	} {
		a := NewAccumulator(Limits{})
		for range 50 {
			_, _ = a.Write([]byte(block))
		}
		if size := cap(a.lines) + cap(a.line) + cap(a.cleaner.held) + cap(a.scratch); size > 1<<20 {
			t.Errorf("%s: %d bytes are held", name, size)
		}
	}
}

func TestDropIsCounted(t *testing.T) {
	a := NewAccumulator(Limits{})
	_, _ = a.Write([]byte("one\ntwo\n"))
	a.Drop(1000, 10)
	_, _ = a.Write([]byte("end\n"))
	s := a.Snapshot()
	if s.Text != "end" || s.TotalLines != 13 || s.Dropped != 1000 || !s.Truncated {
		t.Errorf("%+v", s)
	}
}

func TestEVNT03CleanRemovesWhatSteersATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü text\n":              "plain ü text\n",
		"\x1b]52;c;ZXZpbA==\x07ok":    "ok",
		"\x1b[2Ja\x1b[31mb\x1b[0m":    "ab",
		"\u009b31mred":                "red",
		"a\x7f\x00\x08b":              "ab",
		"x\u202ey\u2066z":             "xyz",
		"\x1bP1$r\x1b\\dcs":           "dcs",
		"cut \x1b":                    "cut ",
		"tab\tstays":                  "tab\tstays",
		"\x1b]8;;http://x\x1b\\t\xff": "t\uFFFD",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanKeepsPrintableText(f *testing.F) {
	f.Add("a\x1b[1mb\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsFunc(got, isControl) || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if !strings.ContainsAny(s, "\x1b\u0080\u0090\u0098\u009b\u009d\u009e\u009f") && utf8.ValidString(s) {
			want := strings.Map(func(r rune) rune {
				if isControl(r) {
					return -1
				}
				return r
			}, s)
			if got != want && !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 && r < 0xa0 }) {
				t.Errorf("Clean(%q) = %q dropped printable text", s, got)
			}
		}
	})
}

func FuzzEscapeNameIsReversible(f *testing.F) {
	for _, s := range []string{"a.txt", "a b", "x\ny", "\xff\xfe", `a\b`, `\:x`, "\x1b[31m", "-rf", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := EscapeName(s)
		if strings.ContainsFunc(e, unprintable) || !utf8.ValidString(e) {
			t.Errorf("EscapeName(%q) = %q is not printable", s, e)
		}
		if e == s {
			return
		}
		if back, ok := UnescapeName(e); !ok || back != s {
			t.Errorf("UnescapeName(%q) = %q, %v, want %q", e, back, ok, s)
		}
	})
}

func TestTRUN02SpillKeepsEverythingOrHeadAndTail(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 300 {
		limit := int64(100 + r.IntN(400))
		file := filepath.Join(t.TempDir(), "spill")
		s := NewSpill(limit, 50, 5, func() (SpillFile, error) { return os.Create(file) })
		var all []byte
		for range r.IntN(30) {
			p := make([]byte, r.IntN(80))
			for i := range p {
				p[i] = byte('a' + r.IntN(26))
			}
			all = append(all, p...)
			_, _ = s.Write(p)
		}
		res, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !res.Written {
			if len(all) > 50 {
				t.Fatalf("%d bytes were not spilled", len(all))
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if res.Total != int64(len(all)) || res.Size != int64(len(got)) || res.Cut != (int64(len(all)) > limit) {
			t.Fatalf("%d bytes, limit %d: %+v, file of %d", len(all), limit, res, len(got))
		}
		if !res.Cut {
			if string(got) != string(all) {
				t.Fatalf("spill differs")
			}
			continue
		}
		head := limit / 2
		i := strings.LastIndex(string(got), " bytes left out ...]\n") + len(" bytes left out ...]\n")
		if string(got[:head]) != string(all[:head]) || !strings.HasSuffix(string(all), string(got[i:])) || int64(len(got)) != limit {
			t.Fatalf("limit %d: %q is not head and tail of %q", limit, got, all)
		}
		var missing int
		if _, err := fmt.Sscanf(string(got[head:]), "\n[... %d bytes left out", &missing); err != nil || missing != len(all)-int(head)-(len(got)-i) {
			t.Fatalf("%d bytes are said to be missing of %d: %v", missing, len(all), err)
		}
	}
}

func BenchmarkAccumulatorYes(b *testing.B) {
	block := []byte(strings.Repeat("y\n", 32<<10))
	b.SetBytes(int64(len(block)))
	a := NewAccumulator(Limits{})
	for b.Loop() {
		_, _ = a.Write(block)
	}
}
