package textedit_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piremote/piremote/tools/textedit"
)

var update = flag.Bool("update", false, "write the golden files")

// unescape lets the goldens show blanks and odd bytes; a line end that is not
// meant is written as a backslash at the end.
func unescape(text []byte) string {
	return strings.NewReplacer(`\t`, "\t", `\r`, "\r", `\s`, " ", `\u00a0`, "\u00a0", `\xe9`, "\xe9", "\\\n", "").Replace(string(text))
}

func TestNotFoundGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/nearest/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string][]byte{}
			for _, f := range a.Files {
				parts[f.Name] = f.Data
			}
			_, err = textedit.Apply("src/a.go", []byte(unescape(parts["file"])), edits{{unescape(parts["old"]), "\x00"}})
			var missing *textedit.NotFoundError
			if !errors.As(err, &missing) {
				t.Fatalf("got %v, want NotFoundError", err)
			}
			got := missing.Error() + "\n"
			if *update {
				a.Files = append(a.Files[:2:2], txtar.File{Name: "error", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(parts["error"]), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNotFoundIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&b, "func name%d() { return value(%d) } // text\n", i, i*7)
	}
	long := strings.Repeat("abcdefg ", 2<<20)
	for name, content := range map[string]string{"lines": b.String(), "one line": long, "empty lines": strings.Repeat("\n", 10<<20)} {
		t.Run(name, func(t *testing.T) {
			old := strings.Repeat("func nameX() {\n\treturn values(77)\n}\n", 1000)
			start := time.Now()
			_, err := textedit.Apply("a.go", []byte(content), edits{{old, "x"}})
			if err == nil {
				t.Fatal("matched")
			}
			if len(err.Error()) > 5000 {
				t.Errorf("message of %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			} else {
				t.Logf("took %v", took)
			}
		})
	}
}

func TestNearestNeverPanics(t *testing.T) {
	for _, content := range []string{"\n", "\r", "abc", "a\n\n\nb", "\xff\xfe\xfd", "\ufeffabc\ndef", "\ufeff", "foo bar\n"} {
		for _, old := range []string{"\n\n\n\n", "   ", "abcdef", "xyz\nabc\nq", "\xff\xff", "ABC", "\ufeffabd", "foo  bar\n\n\n", "a\nb\n\n", "f\no\no\nbar"} {
			if _, err := textedit.Apply("f", []byte(content), edits{{old, "\x01"}}); err != nil && err.Error() == "" {
				t.Error("empty message")
			}
		}
	}
}
