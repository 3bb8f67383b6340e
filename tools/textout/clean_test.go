package textout

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEVNT03CleanRemovesWhatSteersATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü text\n":                         "plain ü text\n",
		"\x1b]52;c;ZXZpbA==\x07ok":               "ok",
		"\x1b[2Ja\x1b[31mb\x1b[0m":               "ab",
		"\u009b31mred":                           "red",
		"\x9b31m":                                "\uFFFD31m",
		"a\x7f\x00\x08b\r":                       "ab",
		"x\u202ey\u2066z\u200f":                  "xyz",
		"\x1bP1$r\x1b\\dcs":                      "dcs",
		"\x1bPq\nsixel\n\x1b\\dcs":               "dcs",
		"\u0090q\u009cdcs":                       "dcs",
		"\x1b_app\x1b\\a":                        "a",
		"\x1b^pm\x1b\\a\x1bXsos\x07b":            "ab",
		"cut \x1b":                               "cut ",
		"cut \x1b[31":                            "cut [31",
		"\x1b]0;no end\nnext":                    "]0;no end\nnext",
		"\x1b]0;title\x1b[31mred":                "red",
		"tab\tstays":                             "tab\tstays",
		"\x1b]8;;http://x\x1b\\t\xff":            "t\uFFFD",
		"\x1b[31\nb":                             "\nb",
		"\x1b[1\u00e9":                           "é",
		"\x1b(Bx\x1bcy\x1b\x1b[mz":               "xyz",
		"\x1bPtmux;\x1b\x1b]52;c;Z\x07\x1b\\end": "end",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLineIsOneLine(t *testing.T) {
	for in, want := range map[string]string{"a\nb\tc\r\n": `a\nb c\n`, "x\u2028y": `x\u2028y`, "\x1b[1mz": "z"} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanKeepsPrintableText(f *testing.F) {
	for _, s := range []string{"a\x1b[1mb\n", "\x1b]0;x\xc2", "\u009d\xe2\n", "\x1bP\xf0\x9f\u009c", "\x1b  \x1b[;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsFunc(got, isControl) || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if Clean(got) != got {
			t.Errorf("Clean(%q) is not clean: %q", s, got)
		}
		drop := func(r rune) rune {
			if isControl(r) {
				return -1
			}
			return r
		}
		if len(s) < maxSequence {
			if want := strings.Map(drop, decodeReference(s)); got != want {
				t.Errorf("Clean(%q) = %q, want %q", s, got, want)
			}
		}
		if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r == esc || r >= 0x80 && r < 0xa0 }) && got != strings.Map(drop, s) {
			t.Errorf("Clean(%q) = %q dropped printable text", s, got)
		}
	})
}

func TestPlainBytesLooksAtEveryByte(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for b := range 256 {
				p := []byte(strings.Repeat("a", length))
				p[at] = byte(b)
				if got, want := plainBytes(p), plain(string(p)); got != want {
					t.Fatalf("plainBytes(%q) = %v", p, got)
				}
			}
		}
	}
}

func TestTruncateRunes(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 4, "äöüß"}, {"äöüß!", 4, "äöü…"}, {"ab", 1, "…"}, {"ab", 0, ""}, {"", 5, ""}, {"x\xffyz", 3, "x\xff…"}} {
		if got := TruncateRunes(c.in, c.limit); got != c.want {
			t.Errorf("TruncateRunes(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestHead(t *testing.T) {
	for _, c := range []struct {
		lines   string
		limits  Limits
		kept    int
		byBytes bool
	}{
		{"a,b,c", Limits{}, 3, false},
		{"a,b,c", Limits{Lines: 2}, 2, false},
		{"a,b,c", Limits{Bytes: 3}, 2, true},
		{"a,b,c", Limits{Bytes: 5}, 3, false},
		{"abcdef,b", Limits{Bytes: 5}, 0, true},
		{"a,b,c", Limits{Lines: 2, Bytes: 3}, 2, false},
	} {
		if kept, byBytes := Head(strings.Split(c.lines, ","), c.limits); kept != c.kept || byBytes != c.byBytes {
			t.Errorf("Head(%s, %+v) = %d, %v, want %d, %v", c.lines, c.limits, kept, byBytes, c.kept, c.byBytes)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0KB", 1536: "1.5KB", 51200: "50.0KB", 1<<20 - 1: "1.0MB", 3355443: "3.2MB", 5 << 30: "5.0GB", 1 << 50: "1048576.0GB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %s, want %s", n, got, want)
		}
	}
}
