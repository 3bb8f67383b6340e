//go:build linux

package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

func TestExecBasics(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, dir := open(t, m.options(t))
			if err := os.Mkdir(filepath.Join(dir, "sub dir"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name string
				cmd  ops.Command
				out  string
				code int
				sig  string
			}{
				{name: "both streams in order", cmd: ops.Command{Script: "echo a; echo b >&2; echo c"}, out: "a\nb\nc\n"},
				{name: "exit code", cmd: ops.Command{Script: "exit 7"}, code: 7},
				{name: "signal", cmd: ops.Command{Script: "kill -KILL $$"}, code: 137, sig: "KILL"},
				{name: "folder", cmd: ops.Command{Script: "pwd", Dir: filepath.Join(dir, "sub dir")}, out: filepath.Join(dir, "sub dir") + "\n"},
				{name: "environment", cmd: ops.Command{Script: `printf %s "$A"`, Env: map[string]string{"A": "x'\"\n$(id)"}}, out: "x'\"\n$(id)"},
				{name: "leading dash", cmd: ops.Command{Script: "-nosuch 2>/dev/null; echo $?"}, out: "127\n"},
				{name: "bytes", cmd: ops.Command{Script: "printf '\\377\xfe'"}, out: "\xff\xfe"},
				{name: "BASH04 no input and no terminal", cmd: ops.Command{Script: "read x; echo got:$x; cat; (: </dev/tty) 2>/dev/null || echo none"}, out: "got:\nnone\n"},
			} {
				t.Run(c.name, func(t *testing.T) {
					exit, out, err := run(t, t.Context(), e, c.cmd)
					if err != nil {
						t.Fatal(err)
					}
					if out != c.out || exit.Code != c.code || exit.Signal != c.sig || exit.TimedOut || exit.Background {
						t.Errorf("got %q, %+v", out, exit)
					}
					if !filepath.IsAbs(exit.Shell) {
						t.Errorf("shell is %q", exit.Shell)
					}
				})
			}
		})
	}
}

func TestExecRefusals(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, dir := open(t, m.options(t))
			outside := t.TempDir()
			if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "leak")), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			mark := filepath.Join(dir, "ran")
			touch := "touch " + mark
			for _, c := range []struct {
				name string
				cmd  ops.Command
				want func(error) bool
			}{
				{"missing folder", ops.Command{Dir: filepath.Join(dir, "no")}, is(fs.ErrNotExist)},
				{"file as folder", ops.Command{Dir: filepath.Join(dir, "file")}, is(ops.ErrNotDir)},
				{"CONF02 folder outside", ops.Command{Dir: filepath.Join(dir, "leak")}, is(ops.ErrOutside)},
				{"missing shell", ops.Command{Shell: ops.Shell{Path: "/no/such/shell"}}, kind(ops.KindNoShell)},
				{"BASH03 name of a variable", ops.Command{Env: map[string]string{"A;B": ""}}, func(err error) bool { return err != nil }},
				{"zero byte in a value", ops.Command{Env: map[string]string{"A": "\x00"}}, func(err error) bool { return err != nil }},
				{"zero byte in the script", ops.Command{Script: "\x00"}, func(err error) bool { return err != nil }},
			} {
				t.Run(c.name, func(t *testing.T) {
					c.cmd.Script = touch + c.cmd.Script
					if _, _, err := run(t, t.Context(), e, c.cmd); !c.want(err) {
						t.Errorf("error is %v", err)
					}
					if _, err := os.Stat(mark); err == nil {
						t.Error("it ran")
					}
				})
			}
		})
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func kind(k ops.Kind) func(error) bool { return func(err error) bool { return ops.KindOf(err) == k } }

func TestBASH08NothingOfTheEnginesEnvironment(t *testing.T) {
	t.Setenv("ENGINE_SECRET", "s3cret")
	_, e, _ := open(t, func(o *Options) { o.Env = nil })
	_, out, err := run(t, t.Context(), e, ops.Command{Script: "env"})
	if err != nil || strings.Contains(out, "s3cret") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestExecLongScripts(t *testing.T) {
	for _, m := range modes() {
		for _, shell := range []string{"bash", "dash", "fish"} {
			t.Run(m.name+" "+shell, func(t *testing.T) {
				_, e, _ := open(t, m.options(t))
				path := findProgram(defaultPath, shell)
				if path == "" {
					require.Missing(t, shell, "package "+shell)
				}
				for _, size := range []int{maxArgument - 100, maxArgument + 1, 3 << 20} {
					if m.supervised && size > 1<<20 && shell != "bash" {
						continue
					}
					word := strings.Repeat("x", 1000)
					var b strings.Builder
					for b.Len() < size {
						fmt.Fprintf(&b, "echo %s\n", word)
					}
					n := strings.Count(b.String(), "\n")
					b.WriteString("cat; echo end") // cat must not eat the script
					want := sha256.Sum256([]byte(strings.Repeat(word+"\n", n) + "end\n"))
					exit, out, err := run(t, t.Context(), e, ops.Command{Script: b.String(), Shell: ops.Shell{Path: path}})
					if err != nil || exit.Code != 0 || sha256.Sum256([]byte(out)) != want {
						t.Errorf("size %d: %+v, %v, %d bytes of output", size, exit, err, len(out))
					}
				}
			})
		}
	}
}

func TestBASH01BackgroundHoldersDoNotPinTheCall(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		for name, script := range map[string]string{
			"silent":       "sleep %[1]s & echo ok",
			"noisy":        "(while :; do echo x; sleep 0.02; done; : %[1]s) & sleep %[1]s & echo ok",
			"session":      "setsid sleep %[1]s & echo ok",
			"no output":    "sleep %[1]s >/dev/null 2>&1 & echo ok",
			"ignores TERM": "(trap '' TERM; sleep %[1]s) & echo ok",
		} {
			t.Run(m.name+" "+name, func(t *testing.T) {
				t.Parallel()
				w, e, _ := open(t, m.options(t))
				arg := unique()
				start := time.Now()
				exit, out, err := run(t, t.Context(), e, ops.Command{Script: fmt.Sprintf(script, arg)})
				if took := time.Since(start); took > hung {
					t.Errorf("took %v", took)
				}
				if err != nil || exit.Code != 0 || !strings.Contains(out, "ok\n") || !exit.Background {
					t.Errorf("%q, %+v, %v", out, exit, err)
				}
				eventually(t, "the background process is seen alive", 5*time.Second, func() bool { return len(alive(t, arg)) > 0 })
				if err := w.Close(); err != nil {
					t.Error(err)
				}
				if left := alive(t, arg); len(left) > 0 {
					t.Errorf("alive after Close: %v", left)
				}
			})
		}
	}
}

func TestBackgroundPolicies(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w, e, _ := open(t, m.options(t))
			arg := unique()
			script := "sleep " + arg + " >/dev/null 2>&1 & until grep -q ^sleep /proc/$!/cmdline; do :; done; echo $!"
			exit, _, err := run(t, t.Context(), e, ops.Command{Script: script, Background: ops.BackgroundKill})
			if err != nil || exit.Background || exit.Killed == 0 || len(alive(t, arg)) > 0 {
				t.Errorf("kill: %+v, %v, alive %v", exit, err, alive(t, arg))
			}
			exit, pid, err := run(t, t.Context(), e, ops.Command{Script: script, Background: ops.BackgroundKeep})
			if err != nil || !exit.Background {
				t.Errorf("keep: %+v, %v", exit, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			eventually(t, "what is kept lives after Close", 5*time.Second, func() bool { return len(alive(t, arg)) == 1 })
			kill(t, strings.TrimSpace(pid))
		})
	}
}

func TestWriteAfterReturnDoesNotKillTheServer(t *testing.T) {
	_, e, dir := open(t)
	mark := filepath.Join(dir, "alive")
	script := "(until [ -e go ]; do sleep 0.01; done; echo noise; echo noise; touch " + mark + ") & echo ok"
	if _, _, err := run(t, t.Context(), e, ops.Command{Script: script}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the background process survives its own output", 5*time.Second, func() bool {
		_, err := os.Stat(mark)
		return err == nil
	})
}

// TestTRUN01LoudCommandIsBounded moves a lot of output, which fits nowhere, in
// one command and in eight at once.
func TestTRUN01LoudCommandIsBounded(t *testing.T) {
	for _, m := range modes() {
		for _, spill := range []bool{false, true} {
			for _, parallel := range []int{1, 8} {
				t.Run(fmt.Sprintf("%s spill %v, %d at once", m.name, spill, parallel), func(t *testing.T) {
					_, e, _ := open(t, m.options(t))
					size := int64(often(96<<20, 1<<30) / parallel)
					heap := heapOf()
					start := time.Now()
					var group sync.WaitGroup
					for range parallel {
						group.Go(func() { loud(t, e, size, spill, heap) })
					}
					group.Wait()
					t.Logf("%d times %d MiB in %v, heap grew by %d KiB", parallel, size>>20, time.Since(start), heap.grown()>>10)
					if heap.grown() > int64(parallel)*2<<20+6<<20 {
						t.Errorf("the heap grew by %d bytes", heap.grown())
					}
				})
			}
		}
	}
}

func loud(t *testing.T, e engine, size int64, spill bool, heap *heapWatch) {
	t.Helper()
	const limit = 8 << 20
	var n, chunks int64
	exit, err := e.Exec(t.Context(), ops.Command{Script: fmt.Sprintf("yes | head -c %d", size), Spill: spill, SpillLimit: limit}, func(c ops.Chunk) {
		n += int64(len(c.Data))
		if chunks++; chunks%100 == 0 {
			heap.look()
		}
	})
	if err != nil || n != size || exit.SpillCut != spill || spill && exit.SpillSize != limit {
		t.Errorf("%d of %d bytes, %+v, %v", n, size, exit, err)
	}
}

// heapWatch remembers the largest heap.
type heapWatch struct {
	before uint64
	most   atomic.Uint64
}

func heapOf() *heapWatch {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	h := &heapWatch{before: stats.HeapAlloc}
	h.most.Store(stats.HeapAlloc)
	return h
}

func (h *heapWatch) look() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	for most := h.most.Load(); stats.HeapAlloc > most && !h.most.CompareAndSwap(most, stats.HeapAlloc); most = h.most.Load() {
	}
}

func (h *heapWatch) grown() int64 { return int64(h.most.Load() - h.before) }

func TestTRUN01EndlessOutputEndsWithTheTimeout(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			heap := heapOf()
			start := time.Now()
			cmd := ops.Command{Script: "yes", Timeout: time.Second, Grace: 200 * time.Millisecond, Spill: true, SpillLimit: 1 << 20}
			chunks := 0
			exit, err := e.Exec(t.Context(), cmd, func(ops.Chunk) {
				if chunks++; chunks%50 == 0 {
					heap.look()
				}
			})
			if took := time.Since(start); took > hung {
				t.Errorf("took %v", took)
			}
			if err != nil || !exit.TimedOut || exit.SpillSize == 0 || exit.SpillSize > cmd.SpillLimit {
				t.Errorf("%+v, %v", exit, err)
			}
			if heap.grown() > 8<<20 {
				t.Errorf("the heap grew by %d bytes", heap.grown())
			}
		})
	}
}

func TestTRUN02SpillHoldsEverything(t *testing.T) {
	w, e, dir := open(t)
	for _, c := range []struct {
		script string
		spill  bool
	}{
		{"seq 1999", false},
		{"seq 2000; printf x", true},
		{"seq 3000", true},
		{"head -c 16384 /dev/zero | tr '\\0' x", false},
		{"head -c 16385 /dev/zero | tr '\\0' x", true},
		{"head -c 3000000 /dev/urandom", true},
	} {
		exit, out, err := run(t, t.Context(), e, ops.Command{Script: c.script, Spill: true})
		if err != nil || (exit.SpillPath != "") != c.spill {
			t.Fatalf("%s: %+v, %v", c.script, exit, err)
		}
		if !c.spill {
			continue
		}
		data, err := e.ReadFile(t.Context(), exit.SpillPath, 0)
		if err != nil || string(data) != out || exit.SpillCut || exit.SpillSize != int64(len(out)) {
			t.Errorf("%s: %d of %d bytes, %v, %+v", c.script, len(data), len(out), err, exit)
		}
		if win, err := e.ReadWindow(t.Context(), exit.SpillPath, ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 9}); err != nil || win.Size != int64(len(out)) {
			t.Errorf("window: %+v, %v", win, err)
		}
		testSpillIsPrivate(t, e, exit.SpillPath)
	}
	if _, err := e.ReadFile(t.Context(), filepath.Join(dir, "..", "x"), 0); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("other files outside: %v", err)
	}
	folder := w.spills.path
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func testSpillIsPrivate(t *testing.T, e engine, path string) {
	t.Helper()
	for p, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700 | fs.ModeDir} {
		if info, err := os.Stat(p); err != nil || info.Mode() != want {
			t.Errorf("BASH10: %s is %v, %v", p, info.Mode(), err)
		}
	}
	if _, err := e.WriteFile(t.Context(), path, nil); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("writing a spill file: %v", err)
	}
	if _, err := e.ReadFile(t.Context(), filepath.Join(filepath.Dir(path), "other"), 0); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("another file beside it: %v", err)
	}
}

func TestBASH10ReplacedSpillFileIsNotRead(t *testing.T) {
	_, e, _ := open(t)
	exit, _, err := run(t, t.Context(), e, ops.Command{Script: "seq 3000", Spill: true})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("s"), 0o600), os.Remove(exit.SpillPath), os.Symlink(secret, exit.SpillPath)); err != nil {
		t.Fatal(err)
	}
	if data, err := e.ReadFile(t.Context(), exit.SpillPath, 0); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("link: %q, %v", data, err)
	}
	if err := errors.Join(os.Remove(exit.SpillPath), os.Link(secret, exit.SpillPath)); err != nil {
		t.Fatal(err)
	}
	if data, err := e.ReadFile(t.Context(), exit.SpillPath, 0); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("other file: %q, %v", data, err)
	}
}

func TestCancelledBeforeItStarts(t *testing.T) {
	_, e, dir := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := run(t, ctx, e, ops.Command{Script: "touch ran"})
	if _, serr := os.Stat(filepath.Join(dir, "ran")); !errors.Is(err, context.Canceled) || serr == nil {
		t.Errorf("%v, %v", err, serr)
	}
}

func TestCloseEndsRunningCommands(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			w, e, _ := open(t, m.options(t))
			arg := unique()
			ended := make(chan error, 1)
			go func() {
				_, err := e.Exec(t.Context(), ops.Command{Script: "sleep " + arg + "; :"}, nil)
				ended <- err
			}()
			eventually(t, "it runs", 5*time.Second, func() bool { return len(alive(t, arg)) == 1 })
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) || len(alive(t, arg)) > 0 {
				t.Errorf("%v, alive %v", err, alive(t, arg))
			}
			if _, _, err := run(t, t.Context(), e, ops.Command{Script: "true"}); ops.KindOf(err) != ops.KindUnavailable {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}
