package textout

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// TestBASH09NoPrintableTextIsDropped sends every printable character through,
// between sequences that go.
func TestBASH09NoPrintableTextIsDropped(t *testing.T) {
	for r := rune(' '); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || !unicode.IsPrint(r) {
			continue
		}
		if got, want := accumulated("\x1b[1m"+string(r)+"\x1b]0;t\x07"+string(r)+"\x1b[0m\n", Limits{}).Text, strings.Repeat(string(r), 2); got != want {
			t.Fatalf("%U: %q, want %q", r, got, want)
		}
	}
}

// TestWIN02NULsOfUTF16AreNoText shows what becomes of the output of programs
// that write UTF-16 whatever the console is told: ASCII stays readable, the rest
// is marked, and nothing else is lost.
func TestWIN02NULsOfUTF16AreNoText(t *testing.T) {
	var raw []byte
	for _, unit := range utf16.Encode([]rune("Windows Subsystem\r\n1.2.3\r\n")) {
		raw = append(raw, byte(unit), byte(unit>>8))
	}
	for cut := range raw {
		a := NewAccumulator(Limits{})
		_, _ = a.Write(raw[:cut])
		_, _ = a.Write(raw[cut:])
		a.Flush()
		if got, want := a.Snapshot().Text, "Windows Subsystem\n1.2.3"; got != want {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want)
		}
	}
	if got := accumulated("\xff\xfea\x00\xfc\x00", Limits{}).Text; !utf8.ValidString(got) || strings.ContainsRune(got, 0) || !strings.Contains(got, "a") {
		t.Errorf("%q", got)
	}
}
