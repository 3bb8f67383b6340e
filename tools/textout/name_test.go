package textout

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCONF08EscapeName(t *testing.T) {
	for in, want := range map[string]string{
		"a.txt":            "a.txt",
		"it's a \"name\".": "it's a \"name\".",
		"naïve 日本 😀":       "naïve 日本 😀",
		`back\slash`:       `back\slash`,
		"-rf":              "-rf",
		"":                 "",
		"x\ny":             `\:x\x0ay`,
		"x\n\x1b[31m":      `\:x\x0a\x1b[31m`,
		"\xff\xfe":         `\:\xff\xfe`,
		"e\xe9\\":          `\:e\xe9\x5c`,
		" lead":            `\:\x20lead`,
		"trail ":           `\:trail\x20`,
		"nbsp\u00a0":       `\:nbsp\xc2\xa0`,
		"rtl\u202egpj":     `\:rtl\xe2\x80\xaegpj`,
		`\:x`:              `\:\x5c:x`,
		"   ":              `\:\x20\x20\x20`,
	} {
		if got := EscapeName(in); got != want {
			t.Errorf("EscapeName(%q) = %s, want %s", in, got, want)
		}
	}
	for _, s := range []string{"a.txt", `\:a`, `\:\x0`, `\:\x0A`, `\:\xzz`, `\:a\x0ab\`, `\:a\x62`, `\:`} {
		if name, ok := UnescapeName(s); ok {
			t.Errorf("UnescapeName(%s) = %q", s, name)
		}
	}
}

func FuzzEscapeNameIsReversible(f *testing.F) {
	for _, s := range []string{"a.txt", "a b", "x\ny", "\xff\xfe", `a\b`, `\:x`, "\x1b[31m", "-rf", "é", " a", "a\u3000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := EscapeName(s)
		if strings.ContainsFunc(e, unprintable) || !utf8.ValidString(e) || strings.TrimSpace(e) != e || Line(e) != e {
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
