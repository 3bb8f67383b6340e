package tools_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/textout"
)

// No pattern and no path is an option of anything.
func TestGREP02DashesAreText(t *testing.T) {
	b := newBench(t)
	b.put("a", "--pre=/tmp/evil.sh\nx -v\n")
	b.put("-rf/-delete", "-v\n")
	b.want("grep", args{"pattern": "--pre=/tmp/evil.sh"}, "a:1: --pre=/tmp/evil.sh")
	b.want("grep", args{"pattern": "-v", "literal": true}, "-rf/-delete:1: -v\na:2: x -v")
	b.want("grep", args{"pattern": "-v", "path": "-rf"}, "-delete:1: -v")
	b.want("grep", args{"pattern": "-v", "glob": "-d*"}, "-rf/-delete:1: -v")
	b.want("find", args{"pattern": "-delete"}, "-rf/-delete")
	b.want("find", args{"pattern": "-exec"}, "No files found matching pattern")
	b.want("ls", args{"path": "-rf"}, "-delete")
	if got := b.get("-rf/-delete"); got != "-v\n" {
		t.Errorf("%q", got)
	}
}

func TestGREP03FourOutcomes(t *testing.T) {
	b := newBench(t)
	b.put("a", "needle\n")
	b.put("locked", "needle\n")
	if err := b.memory.Chmod("/ws/locked", 0); err != nil {
		t.Fatal(err)
	}
	b.want("grep", args{"pattern": "needle"}, "a:1: needle\n\n[1 path could not be read]")
	b.fails("grep", args{"pattern": "("}, "missing closing )")
	b.want("grep", args{"pattern": "nothing", "path": "a"}, "No matches found")
	b.want("grep", args{"pattern": "nothing"}, "No matches found\n\n[1 path could not be read]")
	b.fails("grep", args{"pattern": "needle", "path": "none/x"}, "Cannot search none/x: it does not exist.")
	b.fails("grep", args{"pattern": "needle", "path": "locked"}, "Cannot search locked: permission denied.")
	b.fails("grep", args{"pattern": "x", "glob": "[a"}, `invalid glob "[a"`)
}

// Neither a line nor many of them exceed what a model is shown, and nothing far
// behind the limit is read.
func TestGREP04OutputIsBounded(t *testing.T) {
	b := newBench(t)
	b.put("big.json", `{"needle":"`+strings.Repeat("é", 50_000)+`"}`)
	got, ok := b.do("grep", args{"pattern": "needle", "limit": 1})
	if line, _, _ := strings.Cut(got, "\n"); !ok || len([]rune(line)) > 500+len("big.json:1: ") || !strings.Contains(got, "[Some lines are cut to 500 characters. Use read to see them whole]") {
		t.Errorf("%v %.700q", ok, got)
	}
	b = newBench(t)
	for i := range 400 {
		b.put(fmt.Sprintf("f%03d", i), strings.Repeat(strings.Repeat("x", 400)+"\n", 5))
	}
	set, calls := recorded(t, b)
	// Operations without the abilities to stream or search.
	set.Grep = struct{ ops.GrepOperations }{set.Grep}
	b.x = executor(t, set)
	got, ok = b.do("grep", args{"pattern": ".", "limit": 100_000})
	text, notes, _ := strings.Cut(got, "\n\n")
	if !ok || len(text) > textout.DefaultMaxBytes || len(text) < textout.DefaultMaxBytes-500 || notes != "[50.0KB limit reached; narrow the request to see the rest]" {
		t.Errorf("%v, %d bytes, %q", ok, len(text), notes)
	}
	reads := 0
	for _, c := range calls() {
		if strings.HasPrefix(c, string(opstest.OpReadFile)) {
			reads++
		}
	}
	if ahead := 4 * max(2, runtime.GOMAXPROCS(0)); reads > 28+ahead {
		t.Errorf("%d files were read for 25", reads)
	}
}
