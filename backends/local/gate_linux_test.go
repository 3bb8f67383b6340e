package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/piremote/piremote/tools/ops"
)

// Commands above the bound wait for their turn; files are read and changed meanwhile.
func TestNoMoreCommandsRunThanMay(t *testing.T) {
	w, e, dir := open(t)
	const most, commands = 3, 20
	w.commands = make(gate, most)
	var group sync.WaitGroup
	for range commands {
		group.Go(func() {
			var out strings.Builder
			exit, err := e.Exec(t.Context(), ops.Command{Dir: dir, Script: "echo >run.$$; set -- run.*; echo $#; rm run.$$"}, func(c ops.Chunk) { out.Write(c.Data) })
			n, nerr := strconv.Atoi(strings.TrimSpace(out.String()))
			if err = errors.Join(err, nerr); err != nil || exit.Code != 0 || n > most {
				t.Errorf("%d run at a time, %d may: %v, %v", n, most, exit, err)
			}
		})
	}
	group.Wait()
	for range most {
		w.commands <- struct{}{}
	}
	put(t, filepath.Join(dir, "f"), "one")
	if _, err := e.EditFile(t.Context(), filepath.Join(dir, "f"), edit("one", "two")); err != nil {
		t.Errorf("no command can start, and no file can be changed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Exec(ctx, ops.Command{Dir: dir, Script: "touch ran"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that waits in vain: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// What waits for its turn at files can be given up, and what is inside takes one place
// alone, however many operations it is made of.
func TestNoMoreFilesAreTouchedThanMay(t *testing.T) {
	w, e, dir := open(t)
	w.files = make(gate, 1)
	p := filepath.Join(dir, "new", "f")
	_, err := e.WriteTree(t.Context(), p, []byte("one"))
	check(t, err)
	for name, do := range map[string]func(context.Context) error{
		"read": func(ctx context.Context) error { _, err := e.ReadFile(ctx, p, 0); return err },
		"window": func(ctx context.Context) error {
			_, err := e.ReadWindow(ctx, p, ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 9})
			return err
		},
		"write": func(ctx context.Context) error { _, err := e.WriteFile(ctx, p, []byte("one")); return err },
		"tree":  func(ctx context.Context) error { _, err := e.WriteTree(ctx, p, []byte("one")); return err },
		"edit":  func(ctx context.Context) error { _, err := e.EditFile(ctx, p, edit("one", "one")); return err },
		"replace": func(ctx context.Context) error {
			_, err := e.ReplaceFile(ctx, filepath.Join(dir, "g"), ops.Expect{}, nil)
			return err
		},
		"search": func(ctx context.Context) error {
			_, err := e.Search(ctx, ops.SearchRequest{Root: dir, Path: dir, Pattern: "one", MaxLine: 9}, func(ops.SearchLine) bool { return true })
			return err
		},
		"glob": func(ctx context.Context) error {
			_, err := e.Glob(ctx, ops.GlobRequest{Root: dir, Path: dir, Pattern: "*"}, func(string) bool { return true })
			return err
		},
	} {
		if err := do(t.Context()); err != nil && name != "edit" { // an edit that changes nothing is refused
			t.Errorf("%s, with room for one: %v", name, err)
		}
		w.files <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- do(ctx) }()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s, without room: %v", name, err)
		}
		<-w.files
	}
}
