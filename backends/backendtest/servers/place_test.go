//go:build linux

package servers

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Programs that add accounts replace /etc/passwd by renaming; the account of a server
// that runs has to survive that.
func TestPlaceOutlivesTheReplacementOfWhatItHides(t *testing.T) {
	machine, own := t.TempDir(), t.TempDir()
	accounts := filepath.Join(machine, "passwd")
	for file, text := range map[string]string{accounts: "machine", filepath.Join(machine, "other"): "other", filepath.Join(own, "passwd"): "own"} {
		check(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	}
	p := place{{from: own, over: machine, among: true}}
	cmd := p.command(t, "sh", "-ec", `cat "$0/passwd" "$0/other"; read go; cat "$0/passwd" "$0/other"`, machine)
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewReader(out)
	want := func(word string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); line != word+"\n" || err != nil {
			t.Errorf("%q, %v; want %q", line, err, word)
		}
	}
	want("own")
	want("other")
	check(t, os.WriteFile(accounts+"+", []byte("new\n"), 0o600))
	check(t, os.Rename(accounts+"+", accounts))
	_, err = io.WriteString(in, "go\n")
	check(t, err)
	want("own")
	want("other")
	check(t, cmd.Wait())
}
