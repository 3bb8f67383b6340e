package textedit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/textedit"
)

// tenMB is a file of source text with one line that occurs once, in its middle.
func tenMB(b *testing.B, ending string) []byte {
	b.Helper()
	var text strings.Builder
	for i := 0; text.Len() < 10<<20; i++ {
		if i == 100_000 {
			text.WriteString("\tthe only line of its kind" + ending)
		}
		fmt.Fprintf(&text, "\tcase %d: return handle(request, %d) // what it does%s", i, i*7, ending)
	}
	return []byte(text.String())
}

func tenMBFiles(b *testing.B) map[string][]byte {
	b.Helper()
	marked := append(tenMB(b, "\n"), "\n// “café” – \xe9\n"...)
	return map[string][]byte{"LF": tenMB(b, "\n"), "CRLF": tenMB(b, "\r\n"), "notUTF8": marked}
}

// BenchmarkEditOneLineOf10MB is what an edit costs beside reading and writing.
func BenchmarkEditOneLineOf10MB(b *testing.B) {
	for name, content := range tenMBFiles(b) {
		for how, e := range map[string]textedit.Edit{
			"exact":    {Old: "\tthe only line of its kind\n", New: "\tanother line\n"},
			"tolerant": {Old: "\tthe only line of its kind  \n", New: "\tanother line\n"},
		} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := textedit.Apply("f.go", content, edits{e}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkScan10MB is the baseline: looking at each byte and copying it once.
func BenchmarkScan10MB(b *testing.B) {
	for name, content := range tenMBFiles(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if bytes.Count(content, []byte("\n")) == 0 || len(bytes.Clone(content)) != len(content) {
					b.Fatal("nothing was scanned")
				}
				_ = utf8.Valid(content) // whether it is, is not asked
			}
		})
	}
}
