package store_test

import (
	"testing"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// BenchmarkAppend stores what one call of a tool adds: its outcome and its result.
func BenchmarkAppend(b *testing.B) {
	for name, redact := range map[string]func([]byte) []byte{"plain": nil, "redacted": func(text []byte) []byte { return text }} {
		b.Run(name, func(b *testing.B) {
			l, err := store.Create(store.Options{Dir: b.TempDir(), Redact: redact})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			if _, err := l.Append(store.Message{Message: llm.UserText("go", 1)}); err != nil {
				b.Fatal(err)
			}
			r := result("c1", "the text of a small result")
			b.ReportAllocs()
			for b.Loop() {
				kept, err := store.Outcome(r)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := l.Append(kept); err != nil {
					b.Fatal(err)
				}
				if _, err := l.Append(store.Message{Message: r}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
