//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func put(t *testing.T, x target, name, content string) {
	t.Helper()
	file := filepath.Join(x.host, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryToolOnEveryTarget(t *testing.T) {
	for _, x := range targets(t) {
		t.Run(x.name, func(t *testing.T) {
			put(t, x, "a.txt", "hello\nworld\n")
			put(t, x, "sub/b.go", "package b\n")
			for _, c := range []struct {
				args []string
				want string
			}{
				{[]string{"read", "path=a.txt"}, "hello\nworld\n"},
				{[]string{"read", `{"path":"a.txt","offset":2}`}, "world\n"},
				{[]string{"ls"}, "a.txt\nsub/\n"},
				{[]string{"find", "pattern=*.go"}, "sub/b.go\n"},
				{[]string{"grep", "pattern=wor.d", "context=1"}, "a.txt-1- hello\na.txt:2: world\n"},
				{[]string{"write", "path=new/c.txt", "content=x"}, "Successfully wrote to new/c.txt\n"},
				{[]string{"edit", "path=a.txt", `edits=[{"oldText":"world","newText":"there"}]`}, "Successfully replaced 1 block in a.txt.\n"},
			} {
				r := x.on(t, append([]string{"tool"}, c.args...)...)
				if r.code != 0 || r.stdout != c.want || r.stderr != "" {
					t.Errorf("%v: exit code %d, stdout %q, stderr %q", c.args, r.code, r.stdout, r.stderr)
				}
			}
			r := x.on(t, "tool", "bash", "command=cat a.txt; pwd")
			if r.code != 0 || !strings.HasPrefix(r.stdout, "hello\nthere\n"+x.dir+"\n") {
				t.Errorf("bash: %+v", r)
			}
			r = x.on(t, "tool", "read", "path=a.txt", "--json")
			var o struct {
				Content []struct{ Type, Text string }
				Details map[string]any
				IsError bool
			}
			if err := json.Unmarshal([]byte(r.stdout), &o); err != nil || o.IsError || len(o.Content) != 1 || o.Content[0].Text != "hello\nthere\n" ||
				o.Details["path"] != x.dir+"/a.txt" || !strings.Contains(r.stdout, `"durationMs":`) {
				t.Errorf("--json: %v %s", err, r.stdout)
			}
		})
	}
}

// A timed-out command leaves nothing behind (hazards BASH-02, SSHX-01, DKX-01).
func TestTimeoutLeavesNothing(t *testing.T) {
	for i, x := range targets(t) {
		t.Run(x.name, func(t *testing.T) {
			arg := fmt.Sprintf("1%d%06d", i, time.Now().UnixNano()%1_000_000)
			script := "sleep " + arg + " & sleep " + arg
			if x.name == "local" { // a supervisor sees what nothing else can
				script = "(setsid env -i /bin/sleep " + arg + " &) ; " + script
			}
			// On a busy machine a second can be over before there is a process.
			for _, seconds := range []int{1, 4, 16} {
				seen := watchProcesses(t, arg)
				r := x.on(t, "tool", "bash", "command="+script, fmt.Sprintf("timeout=%d", seconds))
				most := seen()
				t.Logf("returned after %v, seen %d", r.took.Round(time.Millisecond), most)
				if r.code != 1 || !strings.Contains(r.stderr, fmt.Sprintf("timed out after %d seconds", seconds)) ||
					r.took > time.Duration(seconds+14)*time.Second {
					t.Errorf("%+v", r)
				}
				if n := survivors(t, arg); n != 0 {
					t.Errorf("%d processes are left", n)
				}
				if most >= 2 {
					return
				}
			}
			t.Error("the processes were never seen")
		})
	}
}

// watchProcesses returns a function that ends the watch and returns how many
// processes there were at most that have arg among their arguments.
func watchProcesses(t *testing.T, arg string) func() int {
	most := make(chan int, 1)
	stop := make(chan struct{})
	go func() {
		n := 0
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				n = max(n, survivors(t, arg))
			case <-stop:
				most <- n
				return
			}
		}
	}()
	return func() int { close(stop); return <-most }
}

// Names that a shell would read address exactly that file, and nothing runs
// (hazards BASH-03, GREP-02).
func TestHostileNames(t *testing.T) {
	names := []string{
		"with space", "it's", `"quoted"`, "$(touch pwned)", "`touch pwned`", "-rf", "new\nline", ";touch pwned;", "*", `back\slash`,
		"~root", "trailing ", "#hash", "ünï",
	}
	for _, x := range targets(t) {
		t.Run(x.name, func(t *testing.T) {
			for i, name := range names {
				content := fmt.Sprintf("content %d\n", i)
				write, err := json.Marshal(map[string]string{"path": "d/" + name, "content": content})
				if err != nil {
					t.Fatal(err)
				}
				if r := x.on(t, "tool", "write", string(write)); r.code != 0 {
					t.Errorf("write %q: %+v", name, r)
				}
				if got, err := os.ReadFile(filepath.Join(x.host, "d", name)); err != nil || string(got) != content {
					t.Errorf("write %q: %q, %v", name, got, err)
				}
				read, err := json.Marshal(map[string]string{"path": "d/" + name})
				if err != nil {
					t.Fatal(err)
				}
				if r := x.on(t, "tool", "read", string(read)); r.stdout != content {
					t.Errorf("read %q: %+v", name, r)
				}
			}
			grep, err := json.Marshal(map[string]any{"pattern": "--pre=touch pwned", "path": "d"})
			if err != nil {
				t.Fatal(err)
			}
			if r := x.on(t, "tool", "grep", string(grep)); r.stdout != "No matches found\n" {
				t.Errorf("grep: %+v", r)
			}
			for _, dir := range []string{x.host, filepath.Join(x.host, "d")} {
				if _, err := os.Lstat(filepath.Join(dir, "pwned")); err == nil {
					t.Error("a name was executed")
				}
			}
		})
	}
}

// A flood of output costs little memory and ends in its tail (hazard TRUN-01).
func TestFloodIsBounded(t *testing.T) {
	size := int64(100_000_000)
	if testing.Short() {
		size = 20_000_000
	}
	for _, x := range targets(t) {
		t.Run(x.name, func(t *testing.T) {
			quiet := x.on(t, "tool", "bash", "command=true")
			r := x.on(t, "tool", "bash", fmt.Sprintf("command=yes | head -c %d; echo; echo the end", size), "timeout=1000")
			if r.code != 0 || !strings.Contains(r.stdout, "\ny\n\nthe end\n\n[Showing lines ") {
				t.Errorf("exit code %d, ...%q, %q", r.code, r.stdout[max(0, len(r.stdout)-300):], r.stderr)
			}
			if r.peak-quiet.peak > 24<<20 {
				t.Errorf("peak memory is %d MiB, without output %d MiB", r.peak>>20, quiet.peak>>20)
			}
		})
	}
}
