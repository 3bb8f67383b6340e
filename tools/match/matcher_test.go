package match

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// matchingLines lists the numbers of the lines that the matcher finds.
func matchingLines(t testing.TB, m *matcher, block []byte) []int {
	t.Helper()
	var got []int
	for at := 0; ; {
		start, end, pos, ok := m.next(block, at)
		if !ok {
			return got
		}
		if start < at || end < start || pos < 0 || pos > end-start || bytes.IndexByte(block[start:end], '\n') >= 0 {
			t.Fatalf("bounds %d, %d, %d from %d of %q", start, end, pos, at, block)
		}
		got = append(got, bytes.Count(block[:start], []byte{'\n'})+1)
		at = min(end+1, len(block))
	}
}

// expectedLines asks package regexp about each line by itself.
func expectedLines(re *regexp.Regexp, block []byte) []int {
	var want []int
	for i, line := range bytes.Split(bytes.TrimSuffix(block, []byte{'\n'}), []byte{'\n'}) {
		if len(block) > 0 && (re.Match(line) || re.Match(bytes.TrimSuffix(line, []byte{'\r'}))) {
			want = append(want, i+1)
		}
	}
	return want
}

func TestMatcherAgreesWithRegexp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	atoms := []string{
		"a", "b", "ab", "kS", "é", "É", "K", "ſ", `\w`, `\W`, `\s`, `\d`, `\b`, `\B`, "^", "$", ".", "[ab]", "[^a]", `[^\s]`, "[a-cé]",
		`\pL`, `[[:upper:]]`, "-", " ", "_", "日本", "(?i:aB)", "(?s:.)", "\uFFFD", "1",
	}
	var expr func(depth int) string
	expr = func(depth int) string {
		if depth == 0 {
			return atoms[r.IntN(len(atoms))]
		}
		switch r.IntN(8) {
		case 0:
			return "(?:" + expr(depth-1) + "|" + expr(depth-1) + ")"
		case 1:
			return "(" + expr(depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "*?", "{0}"}[r.IntN(7)]
		case 2:
			return expr(depth - 1)
		}
		return expr(depth-1) + expr(depth-1)
	}
	for range 2500 {
		text, fold := expr(1+r.IntN(4)), r.IntN(3) == 0
		checkMatcher(t, text, fold, randomText(r))
	}
}

func randomText(r *rand.Rand) []byte {
	pieces := []string{"a", "b", "A", "B", "k", "K", "s", "S", "é", "É", "\u212a", "ſ", " ", "\n", "\n", "\r\n", "-", "_", "1", "日本", "\xff", "\xe6\x97", "ab", "aab", "\t"}
	var b []byte
	for range r.IntN(40) {
		b = append(b, pieces[r.IntN(len(pieces))]...)
	}
	return b
}

func checkMatcher(t *testing.T, text string, fold bool, block []byte) {
	t.Helper()
	if regexp.MustCompile(`(?is)\$.*(\\b|\^)`).MatchString(text) {
		// $ takes the carriage return, so an assertion behind it stands elsewhere.
		block = bytes.ReplaceAll(block, []byte{'\r'}, nil)
	}
	p, err := compile(SearchRequest{Pattern: text, IgnoreCase: fold})
	flags := ""
	if fold {
		flags = "(?i)"
	}
	re, rerr := regexp.Compile(flags + text)
	if (err == nil) != (rerr == nil) {
		t.Fatalf("%q: %v, but package regexp: %v", text, err, rerr)
	}
	if err != nil {
		return
	}
	want := expectedLines(re, block)
	m := newMatcher(p)
	if got := matchingLines(t, m, block); !slices.Equal(want, got) {
		t.Fatalf("%q, fold %v: lines %v of %q, want %v", text, fold, got, block, want)
	}
	m.finder = nil
	if got := matchingLines(t, m, block); !slices.Equal(want, got) {
		t.Fatalf("%q, fold %v, without a needle: lines %v of %q, want %v", text, fold, got, block, want)
	}
	// Line by line in pieces, as a long line is searched.
	for i, line := range bytes.Split(bytes.TrimSuffix(block, []byte{'\n'}), []byte{'\n'}) {
		l := longLine{dfa: m.dfa, row: m.dfa.begin}
		for n := 1; n < len(line); n++ {
			l.search(line[:n], false)
		}
		l.search(line, true)
		if l.matched != slices.Contains(want, i+1) && len(block) > 0 {
			t.Fatalf("%q, fold %v, in pieces: %v for %q", text, fold, l.matched, line)
		}
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add(`\bTODO\b`, false, []byte("x TODO\nTODOs\r\n"))
	f.Add(`[a-z]+ing\s+$`, true, []byte("walking \nWalKing\t\r\n"))
	f.Add(`^$|(?:é+|日){2,}`, false, []byte("\n\r\néé\xff日日"))
	f.Fuzz(func(t *testing.T, text string, fold bool, block []byte) {
		if re, err := regexp.Compile(text); err != nil || len(text) > 60 || len(block) > 2000 || asksForLineEnds(re.String()) {
			t.Skip()
		}
		checkMatcher(t, text, fold, block)
	})
}

// asksForLineEnds reports whether a pattern speaks of line ends in a way that
// the oracle, which sees one line at a time, does not know.
func asksForLineEnds(text string) bool {
	return strings.ContainsAny(text, "\n\r") || regexp.MustCompile(`\\[nrzAx01Q]|\(\?[a-z]*-?[a-z]*m|-m|\$.*\$`).MatchString(text)
}

func TestPatternOfLines(t *testing.T) {
	block := []byte("one\r\ntwo\n\nthree\r\n\r\nfo\rur")
	for pattern, want := range map[string][]int{
		`e$`:          {1, 4},
		`\r$`:         {1, 4, 5},
		`^$`:          {3, 5},
		`\Aone`:       {1},
		`two\z`:       {2},
		`one\z`:       nil,
		`o\s+t`:       nil,
		`(?s)e.*t`:    nil,
		`[^x]{6}`:     {4},
		`(?-m:^two$)`: {2},
		`o\r`:         {6},
		``:            {1, 2, 3, 4, 5, 6},
		`z*`:          {1, 2, 3, 4, 5, 6},
		`x|[\n]`:      nil,
	} {
		p, err := compile(SearchRequest{Pattern: pattern})
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		if d := cmp.Diff(want, matchingLines(t, newMatcher(p), block)); d != "" {
			t.Errorf("%q: %s", pattern, d)
		}
	}
	for _, req := range []SearchRequest{{Pattern: "a\nb", Literal: true}, {Pattern: `a\nb`}, {Pattern: "("}, {Pattern: "a{2000}"}, {Pattern: "\xff"}} {
		var bad *PatternError
		if _, err := compile(req); !asPattern(err, &bad) || bad.Pattern != req.Pattern {
			t.Errorf("%q: %v", req.Pattern, err)
		}
	}
}

func TestNeedle(t *testing.T) {
	for pattern, want := range map[string]string{
		`foo`: "foo!", `(?i)todo`: "todo!", `\bTODO\b`: "TODO", `func [A-Z]\w+\(ctx`: "func ", `(ab)+c`: "abc", `(ab){2}`: "abab!",
		`a|b`: "", `x?abc`: "abc", `(?i)task`: "ta", `^héé$`: "héé", `a\b\B^b`: "ab", `.`: "", `foo.barz`: "barz", "a\uFFFDbc": "bc",
	} {
		p, err := compile(SearchRequest{Pattern: pattern})
		if err != nil {
			t.Fatal(err)
		}
		got := string(p.needle.text)
		if p.whole {
			got += "!"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

func TestFinderAgreesWithIndex(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 20_000 {
		data := make([]byte, r.IntN(60))
		for i := range data {
			data[i] = "abABé\x01\x02~`@_Zz"[r.IntN(14)]
		}
		text := make([]byte, 1+r.IntN(4))
		for i := range text {
			text[i] = "abz_~"[r.IntN(5)]
		}
		fold, hay := r.IntN(2) == 0, data
		var n needle
		for _, c := range text {
			bit := byte(0)
			if fold && c >= 'a' && c <= 'z' {
				bit = caseBit
			}
			n.add(c, bit)
		}
		if fold {
			hay = bytes.Clone(data)
			for i, c := range hay {
				if c >= 'A' && c <= 'Z' {
					hay[i] = c | caseBit
				}
			}
		}
		from := r.IntN(len(data) + 1)
		want := bytes.Index(hay[from:], text)
		if want >= 0 {
			want += from
		}
		if got := newFinder(n).index(data, from); got != want {
			t.Fatalf("%q from %d of %q: %d, want %d", text, from, data, got, want)
		}
	}
}

// A pattern with more states than the automaton may keep stays exact, and what
// is slow elsewhere takes its time only once for each byte.
func TestPatternWithManyStates(t *testing.T) {
	pattern := `(a|b)*a(a|b){18}c`
	p, err := compile(SearchRequest{Pattern: pattern})
	if err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile(pattern)
	r := rand.New(rand.NewPCG(7, 7))
	var block []byte
	for range 40 {
		for range 2000 {
			block = append(block, "ab"[r.IntN(2)])
		}
		block = append(block, "cx"[r.IntN(2)], '\n')
	}
	d := newDFA(p)
	m := &matcher{dfa: d}
	if got, want := matchingLines(t, m, block), expectedLines(re, block); !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
	if d.cells > 2*maxCells || len(d.table) > 2*maxCells {
		t.Errorf("%d cells, table of %d", d.cells, len(d.table))
	}
	start := time.Now()
	hard := strings.Repeat("(", 60) + "a+" + strings.Repeat(")+", 60) + "$"
	checkMatcher(t, hard, false, []byte(strings.Repeat("a", 200)+"!"))
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("nested repetitions took %v", took)
	}
}

func TestNeedleIsGivenUpWhereItLeavesNothingOut(t *testing.T) {
	p, err := compile(SearchRequest{Pattern: `e [0-9]x`})
	if err != nil {
		t.Fatal(err)
	}
	m := newMatcher(p)
	block := []byte(strings.Repeat("the e 9y\n", 5000) + "e 9x\n")
	if got := matchingLines(t, m, block); !slices.Equal(got, []int{5001}) || m.finder != nil {
		t.Errorf("lines %v, needle kept: %v", got, m.finder != nil)
	}
}

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		line      string
		at, limit int
		want      string
	}{
		{"short\r", 0, 5, "short"},
		{"0123456789", 0, 4, "0123"},
		{"0123456789", 5, 4, "3456"},
		{"0123456789", 10, 4, "6789"},
		{"ééééééé", 7, 3, "ééé"}, // inside of a character
		{"日本語日本語", 18, 2, "本語"},
		{strings.Repeat("\xff", 9), 4, 3, "\xff\xff\xff"},
	} {
		got, cut := excerpt([]byte(c.line), c.at, c.limit)
		if got != c.want || cut != (c.line != "short\r") {
			t.Errorf("%q at %d, %d characters: %q, cut %v", c.line, c.at, c.limit, got, cut)
		}
	}
	if got, cut := excerpt(bytes.Repeat([]byte("x"), maxText+1), 0, 0); len(got) != maxText || !cut {
		t.Errorf("no limit: %d bytes, cut %v", len(got), cut)
	}
}

func BenchmarkMatcher(b *testing.B) {
	var text bytes.Buffer
	r := rand.New(rand.NewPCG(1, 1))
	words := strings.Fields("func return err string if for range import the value of walking started ctx context package nil type struct")
	for text.Len() < 1<<20 {
		fmt.Fprintf(&text, "%s%c", words[r.IntN(len(words))], "  \n\t"[r.IntN(4)])
	}
	for _, req := range []SearchRequest{
		{Pattern: "ErrUnexpectedEOF"}, {Pattern: "errunexpectedeof", IgnoreCase: true}, {Pattern: `[a-z]+ing\s+[a-z]+ed\b`}, {Pattern: `[A-Z]{3}\d+`},
	} {
		p, err := compile(req)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(req.Pattern, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			m := newMatcher(p)
			for b.Loop() {
				for at, ok := 0, true; ok; {
					_, at, _, ok = m.next(text.Bytes(), at)
					at++
				}
			}
		})
	}
}
