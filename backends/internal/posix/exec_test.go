//go:build linux

package posix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// sh runs a command and returns its output.
func (f *fixture) sh(t *testing.T, cmd ops.Command) (string, ops.Exit) {
	t.Helper()
	var out bytes.Buffer
	if cmd.Dir == "" {
		cmd.Dir = f.dir
	}
	exit, err := f.Exec(t.Context(), cmd, func(c ops.Chunk) { out.Write(c.Data) })
	if err != nil {
		t.Errorf("%.60q: %v", cmd.Script, err)
	}
	return out.String(), exit
}

func TestSSHX02ExecOutputAndStatus(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, c := range []struct {
			script, out string
			code        int
			signal      string
		}{
			{"echo x", "x\n", 0, ""},
			{"printf x", "x", 0, ""},
			{"printf '\\n\\n'", "\n\n", 0, ""},
			{"", "", 0, ""},
			{"exit 7", "", 7, ""},
			{"exit 255", "", 255, ""},
			{"exit 137", "", 137, ""},
			{"kill -9 $$", "", 137, "KILL"},
			{"kill -TERM $$", "", 143, "TERM"},
			{"echo a; echo b >&2; echo c", "a\nb\nc\n", 0, ""},
			{"pwd", f.dir + "\n", 0, ""},
			{"cat; read x; echo \"got:$x\"", "got:\n", 0, ""},
			{"set -e; false; echo no", "", 1, ""},
			{"# only a comment", "", 0, ""},
			{"cat <<E\na'b\"$((1+1))\nE", "a'b\"2\n", 0, ""},
			{"printf 'a\r\n'\necho b", "a\r\nb\n", 0, ""},
			{"true \\\n && echo joined", "joined\n", 0, ""},
			{"echo $0 $#; ls /proc/self/fd | wc -l", "", 0, ""},
			{"nonexistent-command-x", "", 127, ""},
		} {
			out, exit := f.sh(t, ops.Command{Script: c.script})
			if c.out == "" && c.code != 7 && out != "" {
				out = "" // its text differs among shells
			}
			if c.script == "exit 137" && strings.HasSuffix(t.Name(), "bash") {
				exit.Signal = "" // a bash doesn't tell these apart
			}
			if out != c.out || exit.Code != c.code || exit.Signal != c.signal || exit.Background {
				t.Errorf("%q: %q %+v, want %q %d %s", c.script, out, exit, c.out, c.code, c.signal)
			}
		}
	})
}

func TestSSHX14EnvironmentIsExact(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, v := range []string{"", "a b'c\nd", "$(id)", "\xff\\", "x\n", "\"`!", strings.Repeat("long ", 5000)} {
			out, _ := f.sh(t, ops.Command{Script: "printf '%s|%s' \"$FOO\" \"$LC_ALL\"; tr '\\000' '\\n' </proc/self/environ | grep -c '^p_' >&2", Env: map[string]string{"FOO": v, "LC_ALL": "POSIX"}})
			if !strings.HasPrefix(out, v+"|POSIX") || !strings.HasSuffix(out, "POSIX0\n") {
				t.Errorf("%q gave %q", v, out)
			}
		}
		f.runner.argvs.Range(func(a, _ any) bool {
			if strings.Contains(fmt.Sprint(a), "long long") {
				t.Error("a value reached argv")
			}
			return true
		})
		for _, name := range []string{"A;B", "", "1A", "A B", "A\n"} {
			if _, err := f.Exec(t.Context(), ops.Command{Script: "true", Dir: f.dir, Env: map[string]string{name: "x"}}, nil); err == nil {
				t.Errorf("name %q was accepted", name)
			}
		}
		out, _ := f.sh(t, ops.Command{Script: "echo ${LC_ALL-unset} ${LANG-unset} ${BASH_ENV-unset}"})
		if wanted := map[string]string{"dash": "unset C.UTF-8 unset\n", "bash": "C.UTF-8 unset unset\n", "busybox": "unset unset unset\n"}; out != wanted[filepath.Base(t.Name())] {
			t.Errorf("locale: %q", out)
		}
	})
}

func TestDKF01LargeCommandIsExact(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, n := range []int{argCommand - 30, argCommand + 1, 200 << 10, 1 << 20} {
			payload := strings.Repeat("0123456789'\"$`\\\n\r\t \xff", n/20+1)[:n]
			out, exit := f.sh(t, ops.Command{Script: "cat <<'EOF_'\n" + payload + "\nEOF_\necho end"})
			if out != payload+"\nend\n" || exit.Code != 0 {
				t.Errorf("%d bytes: got %d, %+v", n, len(out), exit)
			}
		}
		f.runner.argvs.Range(func(a, _ any) bool {
			if s := fmt.Sprint(a); len(s) > 16<<10 || strings.Contains(s, "0123456789'") {
				t.Errorf("argument of %d bytes", len(s))
			}
			return true
		})
		_, err := f.Exec(t.Context(), ops.Command{Script: "a\x00b", Dir: f.dir}, nil)
		if err == nil {
			t.Error("a NUL was accepted")
		}
	})
}

func TestSSHX07MissingFolderRunsNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		must(t, os.Symlink(f.out, f.path("leak")))
		f.put(t, "file", "")
		mark := f.path("ran")
		for _, c := range []struct {
			dir  string
			want error
		}{{f.path("gone"), fs.ErrNotExist}, {f.path("file"), ops.ErrNotDir}, {f.path("leak"), ops.ErrOutside}, {f.out, ops.ErrOutside}} {
			_, err := f.Exec(t.Context(), ops.Command{Script: "touch " + Quote(mark), Dir: c.dir}, nil)
			want(t, err, c.want)
			if err == nil || !strings.Contains(err.Error(), c.dir) {
				t.Errorf("error %v doesn't name %s", err, c.dir)
			}
		}
		_, err := f.Exec(t.Context(), ops.Command{Script: "touch " + Quote(mark), Dir: f.dir, Shell: ops.Shell{Path: "/no/such/shell"}}, nil)
		if ops.KindOf(err) != ops.KindNoShell || !strings.Contains(err.Error(), "/no/such/shell") {
			t.Errorf("missing shell: %v", err)
		}
		if _, err := os.Lstat(mark); err == nil {
			t.Error("the command ran")
		}
	})
}

func TestBASH01BackgroundDoesNotHold(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i, script := range []string{
			"sleep ARG & echo started",
			"(while :; do echo x; sleep 0.1; done) & sleep ARG & echo started",
			"setsid sleep ARG & echo started",
			"setsid sleep ARG >/dev/null 2>&1 & echo started",
			"env -i \"$(command -v sleep)\" ARG & echo started",
		} {
			arg := uniqueArg(i)
			start := time.Now()
			out, exit := f.sh(t, ops.Command{Script: strings.ReplaceAll(script, "ARG", arg), Background: ops.BackgroundKill})
			if d := time.Since(start); d > 12*time.Second {
				t.Errorf("%s: took %v", script, d)
			}
			if !strings.Contains(out, "started\n") || exit.Code != 0 || !exit.Background {
				t.Errorf("%s: %q %+v", script, out, exit)
			}
			if left := alive(t, arg); len(left) > 0 {
				t.Errorf("%s: left %v (%+v)", script, left, exit)
			}
		}
	})
}

func TestCloseEndsBackgroundOfTheSession(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		session, keep := uniqueArg(1), uniqueArg(2)
		f.sh(t, ops.Command{Script: "sleep " + session + " >/dev/null 2>&1 &"})
		f.sh(t, ops.Command{Script: "sleep " + keep + " >/dev/null 2>&1 &", Background: ops.BackgroundKeep})
		seen(t, session)
		seen(t, keep)
		must(t, f.Close(t.Context()))
		if left := alive(t, session); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		kept := alive(t, keep)
		if len(kept) != 1 {
			t.Fatalf("keep: %v", kept)
		}
		p, err := os.FindProcess(kept[0])
		must(t, err)
		must(t, p.Kill())
	})
}

func TestPROC04TimeoutEndsTheWholeTree(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i, script := range []string{
			"sleep ARG",
			"sleep ARG & sleep ARG & wait",
			"trap '' TERM; (trap '' TERM; sleep ARG; sleep ARG) & while :; do sleep ARG; done",
			"setsid sh -c 'setsid sleep ARG & sleep 1' ; sleep ARG",
			"(setsid sh -c 'sleep ARG & sleep ARG' &) ; sleep ARG",
			"env -i \"$(command -v sh)\" -c 'exec '\"$(command -v sleep)\"' ARG' & sleep ARG",
			"nohup sleep ARG >/dev/null 2>&1 & sleep ARG",
		} {
			arg := uniqueArg(10 + i)
			seen := watch(t, arg)
			start := time.Now()
			out, exit := f.sh(t, ops.Command{
				Script: "echo begin; " + strings.ReplaceAll(script, "ARG", arg), Timeout: time.Second, Grace: 300 * time.Millisecond,
			})
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("%s: took %v", script, d)
			}
			if n := seen(); n == 0 {
				t.Errorf("%s: never seen alive", script)
			}
			if !exit.TimedOut || exit.Killed == 0 || len(exit.Survivors) > 0 || exit.Unverified != "" || exit.Code < 128 || !strings.HasPrefix(out, "begin\n") {
				t.Errorf("%s: %q %+v", script, out, exit)
			}
			if left := alive(t, arg); len(left) > 0 {
				t.Errorf("%s: left %v (%+v)", script, left, exit)
			}
		}
	})
}

func TestSSHX01AbortEndsTheTree(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		arg := uniqueArg(30)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var after sync.Once
		exit, err := f.Exec(ctx, ops.Command{Script: "echo go; sleep " + arg, Dir: f.dir}, func(ops.Chunk) { after.Do(cancel) })
		want(t, err, context.Canceled)
		if exit.Killed == 0 || exit.TimedOut {
			t.Errorf("%+v", exit)
		}
		if left := alive(t, arg); len(left) > 0 {
			t.Errorf("left %v", left)
		}
		// Before anything has started nothing runs.
		mark := f.path("ran")
		_, err = f.Exec(ctx, ops.Command{Script: "touch " + Quote(mark), Dir: f.dir}, nil)
		want(t, err, context.Canceled)
		if _, err := os.Lstat(mark); err == nil {
			t.Error("an aborted command ran")
		}
	})
}

func TestBASH04CommandsReadNoStartUpFiles(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		home := t.TempDir()
		must(t, os.WriteFile(filepath.Join(home, ".bashrc"), []byte("echo read >&2\n"), 0o600))
		// What sshd sets, at the depth of a first shell.
		env := map[string]string{"HOME": home, "SSH_CLIENT": "127.0.0.1 1 22", "BASH_ENV": ""}
		out, _ := f.sh(t, ops.Command{Script: "echo said", Env: env})
		if out != "said\n" {
			t.Errorf("%q", out)
		}
	})
}

func TestSSHX04NoStatusIsAnError(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		arg := uniqueArg(40)
		_, err := f.Exec(t.Context(), ops.Command{Script: "sleep " + arg + " & kill -9 $PPID; sleep " + arg, Dir: f.dir}, nil)
		if ops.KindOf(err) != ops.KindNoStatus {
			t.Errorf("error %v", err)
		}
		if left := alive(t, arg); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
}

func TestSpill(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		out, exit := f.sh(t, ops.Command{Script: "echo small", Spill: true})
		if exit.SpillPath != "" || out != "small\n" {
			t.Errorf("small: %+v", exit)
		}
		out, exit = f.sh(t, ops.Command{Script: "i=0; while [ $i -lt 30000 ]; do echo \"line $i of a rather long output xxxxxxxxxxxxxxxxxxx\"; i=$((i+1)); done", Spill: true})
		if exit.SpillPath == "" || exit.SpillSize != int64(len(out)) || exit.SpillCut {
			t.Fatalf("%d bytes: %+v", len(out), exit)
		}
		got, err := f.ReadFile(t.Context(), exit.SpillPath, 0)
		if err != nil || string(got) != out {
			t.Errorf("spill: %d bytes of %d, %v", len(got), len(out), err)
		}
		info, err := os.Stat(exit.SpillPath)
		must(t, err)
		dir, err := os.Stat(filepath.Dir(exit.SpillPath))
		must(t, err)
		if info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
			t.Errorf("BASH-10: modes %v %v", info.Mode(), dir.Mode())
		}
		other := exit.SpillPath + "x"
		must(t, os.WriteFile(other, nil, 0o600))
		_, err = f.ReadFile(t.Context(), other, 0)
		want(t, err, ops.ErrOutside)
		_, cut := f.sh(t, ops.Command{Script: "head -c 100000 /dev/zero", Spill: true, SpillLimit: 50000})
		if cut.SpillSize != 50000 || !cut.SpillCut {
			t.Errorf("cut: %+v", cut)
		}
		// A file that was put in the place of the spill is not ours.
		must(t, os.WriteFile(f.out+"/secret", []byte("secret"), 0o600))
		must(t, os.Remove(exit.SpillPath))
		must(t, os.Symlink(f.out+"/secret", exit.SpillPath))
		if got, err := f.ReadFile(t.Context(), exit.SpillPath, 0); err == nil {
			t.Errorf("replaced spill: %q", got)
		}
		must(t, f.Close(t.Context()))
		if _, err := os.Lstat(filepath.Dir(exit.SpillPath)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder stays: %v", err)
		}
	})
}

// uniqueArg is a number of seconds for sleep that nobody else uses.
func uniqueArg(i int) string {
	return strconv.Itoa(40000+i) + "." + strconv.FormatInt(time.Now().UnixNano()%1e9, 10)
}

// seen waits until one process with arg is alive: a shell may end before its child
// has become the program.
func seen(t *testing.T, arg string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 500 {
		if len(alive(t, arg)) == 1 {
			return
		}
		<-ticker.C
	}
	t.Fatalf("a background process did not live on: %s", arg)
}

// alive lists the processes that have arg as an argument.
func alive(t *testing.T, arg string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte("\x00"+arg+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// watch counts processes with arg until the returned function is called, which
// returns the most that were seen at once.
func watch(t *testing.T, arg string) func() int {
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		most := 0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- most
				return
			case <-tick.C:
				most = max(most, len(alive(t, arg)))
			}
		}
	}()
	return func() int { close(stop); return <-done }
}
