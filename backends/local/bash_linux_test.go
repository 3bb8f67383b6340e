package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// hostileNames are names that a shell would take for something else.
func hostileNames(mark string) []string {
	return []string{
		"a'b", `a"b`, "$(touch " + mark + ")", "`touch " + mark + "`", "-rf", "--", "x\ny", " ;touch " + mark + ";", "~root", "*", "?",
		"[a]", "{a,b}", "#x", "%s", `\`, `\n`, "&& touch " + mark, "| sh", "> out", "!!", "a\tb", "é\xff", " ", "...", "$HOME", "-oProxyCommand=x",
	}
}

func TestBASH03HostileNames(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, dir := open(t, m.options(t))
			mark := "pwn"
			for i, name := range hostileNames(mark) {
				sub := filepath.Join(dir, fmt.Sprintf("d%d", i), name)
				p := filepath.Join(sub, name)
				if err := e.MkdirAll(t.Context(), sub); err != nil {
					t.Fatalf("%q: %v", name, err)
				}
				if r, err := e.WriteFile(t.Context(), p, []byte(name)); err != nil || r.Path != p {
					t.Errorf("%q: %+v, %v", name, r, err)
				}
				if data, err := os.ReadFile(p); err != nil || string(data) != name {
					t.Errorf("%q: %q, %v", name, data, err)
				}
				if data, err := e.ReadFile(t.Context(), p, 0); err != nil || string(data) != name {
					t.Errorf("%q: %q, %v", name, data, err)
				}
				// The folder as the place to run in, and the name as the value of a variable.
				exit, out, err := run(t, t.Context(), e, ops.Command{
					Script: `shopt -s dotglob; printf '%s|' "$PWD" "$NAME" *; [ . -ef "$PWD" ]`, Dir: sub, Env: map[string]string{"NAME": name},
				})
				if want := sub + "|" + name + "|" + name + "|"; err != nil || exit.Code != 0 || out != want {
					t.Errorf("%q: %q, want %q, %+v, %v", name, out, want, exit, err)
				}
				if left := found(t, dir, mark); left != "" {
					t.Fatalf("%q was run: %s exists", name, left)
				}
			}
			for _, name := range []string{"A;B", "", "1A", "A=B", "A B", "A\x00", "É", "A-B", "$(id)"} {
				if _, out, err := run(t, t.Context(), e, ops.Command{Script: "echo ran", Env: map[string]string{name: "x"}}); err == nil || out != "" {
					t.Errorf("the variable name %q is taken: %q", name, out)
				}
			}
			for op, err := range every(t, e, filepath.Join(dir, "a\x00b")) {
				if err == nil {
					t.Errorf("%s takes a NUL byte", op)
				}
			}
		})
	}
}

// found returns the path of a file with this very name anywhere below dir.
func found(t testing.TB, dir, name string) (at string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if filepath.Base(p) == name {
			at = p
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestBASH04NothingWaitsForAPerson(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		for script, want := range map[string]string{
			"read x; echo got:$x":                    "got:\n",
			"cat; echo end":                          "end\n",
			"(: </dev/tty) 2>/dev/null || echo none": "none\n",
			"tty":                                    "not a tty\n",
			"select x in a b; do break; done 2>/dev/null; echo":                        "\n\n",
			"(bash -i </dev/tty) 2>/dev/null; echo $?":                                 "1\n",
			"bash; sh; echo end":                                                       "end\n",
			"ssh-keygen -p -f /dev/null >/dev/null 2>&1; [ $? -ne 0 ] && echo refused": "refused\n",
			"[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none":                            "none\n",
			"ps -o tty= -p $$":                                                         "?\n",
		} {
			t.Run(m.name+" "+script, func(t *testing.T) {
				t.Parallel()
				_, e, _ := open(t, m.options(t))
				_, out, err := run(t, t.Context(), e, ops.Command{Script: script, Timeout: 20 * time.Second})
				if err != nil || strings.ReplaceAll(out, " ", "") != strings.ReplaceAll(want, " ", "") {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
	}
}

func TestBASH04NoStartupFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"env", ".bashrc", ".profile", ".bash_profile"} {
		put(t, filepath.Join(dir, name), "echo start-up; read x </dev/tty; sleep 60\n")
	}
	_, e, _ := open(t, func(o *Options) {
		o.Env = append(os.Environ(), "HOME="+dir, "BASH_ENV="+filepath.Join(dir, "env"), "ENV="+filepath.Join(dir, "env"),
			"SSH_CLIENT=127.0.0.1 1 22", "SHLVL=0") // as below sshd, where the login shell gave its place to another program
	})
	for _, shell := range []string{"/bin/bash", "/bin/sh"} {
		_, out, err := run(t, t.Context(), e, ops.Command{Script: "echo $HOME", Shell: ops.Shell{Path: shell}})
		if err != nil || out != dir+"\n" {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
	}
	own := map[string]string{"BASH_ENV": filepath.Join(dir, "none")}
	if _, out, err := run(t, t.Context(), e, ops.Command{Script: "echo $BASH_ENV", Env: own}); err != nil || out != own["BASH_ENV"]+"\n" {
		t.Errorf("the caller's own: %q, %v", out, err)
	}
}

func TestBASH07TimesAreExactAndDoNotOverflow(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		for _, c := range []struct {
			timeout, grace time.Duration
			script         string
			timedOut       bool
		}{
			{500 * time.Millisecond, 100 * time.Millisecond, "sleep 1000", true},
			{time.Nanosecond, time.Nanosecond, "sleep 1000", true},
			{300 * time.Millisecond, math.MaxInt64, "sleep 1000", true}, // TERM ends it
			{math.MaxInt64, 0, "sleep 0.1; echo ok", false},
			{0, 0, "sleep 0.1; echo ok", false},
			{-1, -1, "sleep 0.1; echo ok", false},
		} {
			t.Run(fmt.Sprintf("%s %v %v", m.name, c.timeout, c.grace), func(t *testing.T) {
				t.Parallel()
				_, e, _ := open(t, m.options(t))
				start := time.Now()
				exit, out, err := run(t, t.Context(), e, ops.Command{Script: c.script, Timeout: c.timeout, Grace: c.grace})
				took := time.Since(start)
				if err != nil || exit.TimedOut != c.timedOut || !c.timedOut && out != "ok\n" || len(exit.Survivors) > 0 || exit.Unverified != "" {
					t.Errorf("%q, %+v, %v", out, exit, err)
				}
				if c.timedOut && (took < c.timeout || took > time.Minute) { // a busy machine is late, but never by a thousand seconds
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

func TestBASH08ValuesAreInNoArguments(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			secret := "s3cret" + unique()
			// Every process that lives while the command runs, the engine's and the supervisor's too.
			script := `cat /proc/[0-9]*/cmdline 2>/dev/null; echo; echo "$TOKEN" | wc -c; tr '\0' '\n' </proc/$PPID/environ`
			_, out, err := run(t, t.Context(), e, ops.Command{Script: script, Env: map[string]string{"TOKEN": secret}})
			if err != nil || strings.Contains(out, secret) {
				t.Errorf("%v: %s", err, out)
			}
			if !strings.Contains(out, fmt.Sprintf("\n%d\n", len(secret)+1)) {
				t.Error("the command does not have the value")
			}
		})
	}
}

func TestBASH09RawBytesArriveAndAreKept(t *testing.T) {
	_, e, _ := open(t)
	var want bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&want, "\r%d%%", i%100)
	}
	want.WriteString("\x1b[31mred\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b]52;c;eA==\x07\b\b\r\nERROR: x\n\x00\xff")
	_, err := e.WriteFile(t.Context(), filepath.Join(e.dir, "f"), want.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	exit, out, err := run(t, t.Context(), e, ops.Command{Script: "cat f", Spill: true})
	if err != nil || out != want.String() {
		t.Errorf("%d bytes of %d, %v", len(out), want.Len(), err)
	}
	if data, err := e.ReadFile(t.Context(), exit.SpillPath, 0); err != nil || !bytes.Equal(data, want.Bytes()) {
		t.Errorf("the spill holds %d bytes of %d, %v", len(data), want.Len(), err)
	}
}

func TestBASH10SpillFolderIsPrivateWhateverTheMask(t *testing.T) {
	if asProgram(t, "umask 000") {
		return
	}
	_, e, _ := open(t)
	exit, _, err := run(t, t.Context(), e, ops.Command{Script: "umask; seq 3000", Spill: true})
	if err != nil {
		t.Fatal(err)
	}
	testSpillIsPrivate(t, e, exit.SpillPath)
}

func TestBASH10ReplacedSpillFolderIsNotWrittenTo(t *testing.T) {
	w, e, dir := open(t)
	exit, _, err := run(t, t.Context(), e, ops.Command{Script: "seq 3000", Spill: true})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(exit.SpillPath)
	trap := filepath.Join(dir, "trap")
	// The command moves the folder away and puts a link to a folder of its own there.
	script := fmt.Sprintf("mkdir %s && mv %s %s.moved && ln -s %s %s && seq 3000", trap, folder, folder, trap, folder)
	exit, _, err = run(t, t.Context(), e, ops.Command{Script: script, Spill: true})
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v", exit, err)
	}
	if got := contents(t, trap); len(got) > 0 {
		t.Errorf("it was written to: %v", got)
	}
	if err := errors.Join(os.Remove(folder), os.Rename(folder+".moved", folder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
}

func TestBASH10AllSpillsTogetherAreBounded(t *testing.T) {
	w, e, _ := open(t)
	w.spills.limit = 100 << 10
	var paths []string
	for range 20 {
		exit, _, err := run(t, t.Context(), e, ops.Command{Script: "head -c 30000 /dev/zero", Spill: true})
		if err != nil || exit.SpillPath == "" {
			t.Fatalf("%+v, %v", exit, err)
		}
		paths = append(paths, exit.SpillPath)
		var sum int64
		for _, p := range paths {
			if info, err := os.Stat(p); err == nil {
				sum += info.Size()
			}
		}
		if sum > w.spills.limit {
			t.Errorf("%d bytes are kept", sum)
		}
	}
	for i, p := range paths {
		data, err := e.ReadFile(t.Context(), p, 0)
		if i < len(paths)-3 {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("file %d: %v", i, err)
			}
			if _, err := e.Stat(t.Context(), p); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("stat of file %d: %v", i, err)
			}
		} else if err != nil || len(data) != 30000 {
			t.Errorf("file %d: %d bytes, %v", i, len(data), err)
		}
	}
}

func TestBASH05ManyCommandsAtOnce(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			arg := unique()
			const n = 24
			errs := make(chan error, n)
			for range n {
				group.Go(func() {
					_, err := e.Exec(ctx, ops.Command{Script: "sleep " + arg + "; :", Grace: 200 * time.Millisecond}, nil)
					errs <- err
				})
			}
			eventually(t, "all run", time.Minute, func() bool { return len(alive(t, arg)) == n })
			cancel()
			group.Wait()
			for range n {
				if err := <-errs; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if left := alive(t, arg); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
		})
	}
}
