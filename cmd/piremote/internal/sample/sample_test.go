package sample

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, p Project) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range p.Files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "test.sh")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The test of a sample fails for its one bug, and passes when that is mended.
func TestSampleFailsAndCanBeMended(t *testing.T) {
	places := map[string]bool{}
	for seed := range uint64(24) {
		p := New(seed)
		places[p.BugFile] = true
		dir := write(t, p)
		out, err := run(t, dir)
		if err == nil || !strings.Contains(out, "FAIL ") {
			t.Fatalf("seed %d: the test passed before the bug was mended:\n%s", seed, out)
		}
		file := filepath.Join(dir, p.BugFile)
		lines := strings.Split(p.Files[p.BugFile], "\n")
		if !strings.HasSuffix(lines[p.BugLine-1], " + 1)); }") {
			t.Fatalf("seed %d: no bug at %s:%d: %q", seed, p.BugFile, p.BugLine, lines[p.BugLine-1])
		}
		lines[p.BugLine-1] = strings.Replace(lines[p.BugLine-1], " + 1)); }", ")); }", 1)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := run(t, dir); err != nil {
			t.Fatalf("seed %d: the test fails after the bug was mended: %v\n%s", seed, err, out)
		}
	}
	if len(places) < 4 {
		t.Errorf("24 seeds put the bug into only %d files", len(places))
	}
}
