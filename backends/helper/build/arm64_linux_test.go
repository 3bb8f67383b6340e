package build

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// pipes are the standard streams of a program as one stream.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Read(b []byte) (int, error)  { return p.ReadCloser.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.WriteCloser.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.WriteCloser.Close(), p.ReadCloser.Close()) }

// arm64 builds the helper for arm64 and returns what starts it here: by an emulator
// of the processor, unless this is one.
func arm64(t *testing.T) func(ctx context.Context, word ...string) *exec.Cmd {
	t.Helper()
	program, err := Program(t.Context(), ".", "arm64")
	must(t, err)
	file := filepath.Join(t.TempDir(), helper.Name)
	must(t, os.WriteFile(file, program, 0o500))
	argv := []string{file}
	if runtime.GOARCH != "arm64" {
		qemu, err := exec.LookPath("qemu-aarch64")
		if err != nil {
			require.Missing(t, "qemu", err.Error())
		}
		argv = []string{qemu, file}
	}
	return func(ctx context.Context, words ...string) *exec.Cmd {
		argv := append(argv[:len(argv):len(argv)], words...)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env, cmd.WaitDelay = []string{"HOME=/", "PATH=/usr/bin:/bin"}, 10*time.Second
		return cmd
	}
}

// The helper for arm64 runs, and works on files. Commands are left out: for them it
// starts itself, which needs a kernel that runs such programs, and its supervisor
// adopts processes, which the emulator does not know.
func TestHelperForARM64Works(t *testing.T) {
	start := arm64(t)
	out, err := start(t.Context(), helper.Version).Output()
	must(t, err)
	if said, want := strings.TrimSpace(string(out)), helper.VersionLine("linux", "arm64"); said != want {
		t.Errorf("its version is %q, want %q", said, want)
	}
	serve := start(context.WithoutCancel(t.Context()), helper.Serve, strings.Repeat("0", 32))
	in, err := serve.StdinPipe()
	must(t, err)
	from, err := serve.StdoutPipe()
	must(t, err)
	var stderr strings.Builder
	serve.Stderr = &stderr
	must(t, serve.Start())
	dir := t.TempDir()
	w, err := client.Open(t.Context(), client.Options{
		Label: "arm64:", Dir: dir, Keepalive: time.Minute,
		Dial: func(context.Context) (io.ReadWriteCloser, error) { return pipes{from, in}, nil },
	})
	if err != nil {
		_ = serve.Process.Kill()
		t.Fatal(err, serve.Wait(), stderr.String())
	}
	work(t, w.Set(), filepath.Join(dir, "sub", "f.txt"))
	if err := errors.Join(w.Close(), serve.Wait()); err != nil {
		t.Error(err, stderr.String())
	}
}

// work writes, edits, reads and finds a file, and looks at it by other means.
func work(t *testing.T, set ops.Set, path string) {
	t.Helper()
	tree, ok1 := set.Write.(ops.TreeWriter)
	editor, ok2 := set.Edit.(ops.Editor)
	searcher, ok3 := set.Grep.(ops.Searcher)
	if !ok1 || !ok2 || !ok3 {
		t.Fatal("abilities are missing: ", ok1, ok2, ok3)
	}
	_, err := tree.WriteTree(t.Context(), path, []byte("one\nold two\nthree\n"))
	must(t, err)
	_, err = editor.EditFile(t.Context(), path, ops.EditRequest{Name: "f.txt", Edits: []ops.Replacement{{Old: "old two", New: "new two"}}})
	must(t, err)
	const want = "one\nnew two\nthree\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if got, err := set.Read.ReadFile(t.Context(), path, 0); err != nil || string(got) != want {
		t.Errorf("read %q, %v", got, err)
	}
	dir := filepath.Dir(filepath.Dir(path))
	var lines []string
	_, err = searcher.Search(t.Context(), ops.SearchRequest{Root: dir, Path: dir, Pattern: "n[e]w", MaxLine: 100}, func(l ops.SearchLine) bool {
		lines = append(lines, l.Path+" "+l.Text)
		return true
	})
	must(t, err)
	if len(lines) != 1 || lines[0] != "sub/f.txt new two" {
		t.Errorf("found %q", lines)
	}
}
