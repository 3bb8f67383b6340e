package local

import (
	"os"
	"path/filepath"
	"testing"
)

// The counters of both versions of control groups, as the kernel writes them.
func TestLimitsAreRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"version 2", counter("oom_kill", file("events", "low 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n"), missing), 2},
		{"version 1", counter("oom_kill", missing, file("control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")), 4},
		{"refusals", counter("max", file("pids", "max 7\n"), missing), 7},
		{"no file", counter("max", missing), 0},
		{"a limit", limit(missing, file("limit", "268435456\n")), 256 << 20},
		{"no limit", limit(file("none", "max\n")), 0},
		{"none of version 1", limit(file("huge", "9223372036854771712\n")), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}
