package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

const editsEach = 200

// editAll is a program that edits its part of a file, word by word.
func editAll(dir, lockDir, file, part string) int {
	w, err := Open(context.Background(), Options{Dir: dir, LockDir: lockDir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := strconv.Atoi(part)
	for i := n * editsEach; i < (n+1)*editsEach && err == nil; i++ {
		_, err = w.Set().Edit.(ops.Editor).EditFile(context.Background(), file, edit(fmt.Sprintf("<old %d>", i), fmt.Sprintf("<new %d>", i)))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestMUTQ04TwoProcessesLoseNothing(t *testing.T) {
	self, err := os.Executable()
	check(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	locks := filepath.Join(t.TempDir(), "locks")
	p := filepath.Join(dir, "real", "f")
	var text, want strings.Builder
	for i := range 2 * editsEach {
		fmt.Fprintf(&text, "<old %d>\n", i)
		fmt.Fprintf(&want, "<new %d>\n", i)
	}
	put(t, p, text.String())
	link(t, "real", filepath.Join(dir, "alias"))
	var group sync.WaitGroup
	for part, name := range []string{dir + "/alias/f", dir + "/alias/../real/f"} {
		cmd := exec.CommandContext(t.Context(), self, editorArg, dir, locks, name, strconv.Itoa(part))
		cmd.WaitDelay = time.Second
		group.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	group.Wait()
	if data, err := os.ReadFile(p); err != nil || string(data) != want.String() {
		t.Errorf("%v, %d edits are lost", err, strings.Count(string(data), "old"))
	}
	noLocks(t, locks)
	noTemp(t, filepath.Dir(p))
}

func noLocks(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("locks remain: %v, %v", entries, err)
	}
}

func lockIn(dir, path string) string { return filepath.Join(dir, steps.Hash([]byte(path))) }

// locking opens a workspace with locks.
func locking(t *testing.T) (w *Workspace, e engine, dir, locks string) {
	t.Helper()
	locks = filepath.Join(t.TempDir(), "a", "locks")
	w, e, dir = open(t, func(o *Options) { o.LockDir = locks })
	return w, e, dir, locks
}

func TestMUTQ04EveryChangeTakesTheLock(t *testing.T) {
	_, e, dir, locks := locking(t)
	p := filepath.Join(dir, "f")
	put(t, p, "one")
	link(t, "f", filepath.Join(dir, "alias"))
	alias := filepath.Join(dir, "alias")
	for name, change := range map[string]func(context.Context) error{
		"write": func(ctx context.Context) error { _, err := e.WriteFile(ctx, alias, []byte("one")); return err },
		"tree":  func(ctx context.Context) error { _, err := e.WriteTree(ctx, alias, []byte("one")); return err },
		"edit":  func(ctx context.Context) error { _, err := e.EditFile(ctx, alias, edit("one", "1")); return err },
		"replace": func(ctx context.Context) error {
			_, err := e.ReplaceFile(ctx, alias, ops.Expect{Exists: true, Size: 3, Hash: steps.Hash([]byte("one"))}, []byte("one"))
			return err
		},
	} {
		put(t, p, "one")
		put(t, lockIn(locks, p), "")
		held, err := (&folder{file: opened(t, locks)}).lock(filepath.Base(lockIn(locks, p)))
		if err != nil || held == nil {
			t.Fatal(held, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := change(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, while another has the lock: %v", name, err)
		}
		cancel()
		done := make(chan error, 1)
		go func() { done <- change(t.Context()) }()
		check(t, held.Close()) // as when its process ends
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		noLocks(t, locks)
	}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestMUTQ06LocksAreGivenUp(t *testing.T) {
	_, e, dir, locks := locking(t)
	put(t, filepath.Join(dir, "f"), "one")
	check(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	for _, name := range []string{"f", "no", "no/f", "folder", "f/below"} {
		_, _ = e.EditFile(t.Context(), filepath.Join(dir, name), edit("two", "2")) // each fails
		noLocks(t, locks)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = e.WriteFile(ctx, filepath.Join(dir, name), nil) // so does this
		noLocks(t, locks)
	}
	if len(e.ws.locks.busy) > 0 {
		t.Errorf("%v are busy", e.ws.locks.busy)
	}
}

func TestMUTQ04OneWorkspaceNeedsNoFolderForLocks(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	release, err := e.ws.locks.take(t.Context(), p)
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.WriteFile(ctx, p, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another changes the file: %v", err)
	}
	if _, err := e.WriteFile(t.Context(), p+"2", nil); err != nil {
		t.Errorf("another file: %v", err)
	}
	done := make(chan error, 1)
	go func() { _, err := e.WriteFile(t.Context(), p, nil); done <- err }()
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestMUTQ06LocksThatWereLeftGo(t *testing.T) {
	locks := t.TempDir()
	check(t, os.Chmod(locks, 0o700))
	left, held, other := lockIn(locks, "/left"), lockIn(locks, "/held"), filepath.Join(locks, "other")
	for _, p := range []string{left, held, other} {
		put(t, p, "")
	}
	lock(t, held)
	open(t, func(o *Options) { o.LockDir = locks })
	for p, stays := range map[string]bool{left: false, held: true, other: true} {
		if _, err := os.Lstat(p); errors.Is(err, os.ErrNotExist) == stays {
			t.Errorf("%s: stays %v, want %v", p, !stays, stays)
		}
	}
}

func TestAFolderForLocksThatIsRemovedIsMadeAgain(t *testing.T) {
	_, e, dir, locks := locking(t)
	check(t, os.Remove(locks))
	if _, err := e.WriteFile(t.Context(), filepath.Join(dir, "f"), nil); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(locks)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAFolderForLocksMustBePrivate(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, name := range []string{"real", "group", "anybody", "foreign"} {
		check(t, os.Mkdir(at(name), 0o700))
	}
	check(t, os.Chmod(at("group"), 0o770))
	check(t, os.Chmod(at("anybody"), 0o707))
	link(t, "real", at("link"))
	link(t, "nowhere", at("dangling"))
	put(t, at("file"), "")
	cases := map[string]string{
		"group": "others may write to it (mode 0770)", "anybody": "others may write to it (mode 0707)",
		"link": "it is a link", "dangling": "file exists", "file": "not a directory",
	}
	if os.Geteuid() == 0 {
		check(t, os.Chown(at("foreign"), 1, 1))
		cases["foreign"] = "it belongs to account 1"
	}
	for name, want := range cases {
		w, err := Open(t.Context(), Options{Dir: base, LockDir: at(name)})
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at(name)) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if w != nil {
			_ = w.Close()
		}
	}
}
