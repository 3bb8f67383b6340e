package wire

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSupervisorBeside(t *testing.T) {
	dir := t.TempDir()
	program, beside := filepath.Join(dir, "piremote"), filepath.Join(dir, "piremote-supervisor")
	linked := filepath.Join(t.TempDir(), "piremote")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, linked); err != nil {
		t.Skip("no links here: ", err)
	}
	if got := supervisorBeside(program); got != "" {
		t.Errorf("nothing is there, and %s is found", got)
	}
	if err := os.WriteFile(beside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := supervisorBeside(program); got != "" {
		t.Errorf("a file that is no program: %s", got)
	}
	if err := os.Chmod(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{program, linked} {
		got, err := filepath.EvalSymlinks(supervisorBeside(p))
		want, err2 := filepath.EvalSymlinks(beside)
		if err != nil || err2 != nil || got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	if got := supervisorBeside(""); got != "" {
		t.Errorf("no program: %s", got)
	}
}
