package ssh

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// secrets are texts that occur nowhere else, each in a place of its own.
type secrets struct{ script, value, passphrase string }

func newSecrets() secrets {
	return secrets{"script-" + rand.Text(), "value-" + rand.Text(), "passphrase-" + rand.Text()}
}

// in names the secrets that a text tells.
func (s secrets) in(text string) []string {
	var list []string
	for _, mark := range []string{s.script, s.value, s.passphrase} {
		if strings.Contains(text, mark) {
			list = append(list, mark)
		}
	}
	return list
}

// shown is a process whose command line tells a secret.
type shown struct {
	pid, parent int
	mark        string
}

// watch looks at the command lines of all processes, again and again until stop is
// called, which returns those that told a secret.
func (s secrets) watch() (stop func() map[shown]string) {
	found := map[shown]string{}
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			s.look(found)
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() map[shown]string {
		close(end)
		wg.Wait()
		return found
	}
}

// look looks at all processes once.
func (s secrets) look(found map[shown]string) {
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, dir := range folders {
		// The parent comes first: what ended in between told nothing any more.
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue
		}
		line, err := os.ReadFile(dir + "/cmdline")
		if err != nil {
			continue
		}
		for _, mark := range s.in(string(line)) {
			pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern allows digits only
			_, rest, _ := strings.Cut(string(stat), ") ")
			_, rest, _ = strings.Cut(rest, " ")
			parent, _ := strconv.Atoi(strings.Fields(rest + " 0")[0]) // after the state (proc(5))
			found[shown{pid, parent, mark}] = strings.ReplaceAll(string(line[:min(len(line), 400)]), "\x00", " ")
		}
	}
}

// While a command runs, only its own shell and that one's children tell its script,
// and nobody an environment value or a passphrase; neither do errors, warnings and the
// server's log (hazard SSHX-08).
func TestSSHX08NothingSecretIsTold(t *testing.T) {
	t.Parallel()
	for _, mode := range []struct {
		name   string
		policy helper.Policy
	}{{"agentless", helper.Never}, {"helper", helper.Require}} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			marks := newSecrets()
			s := servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"LogLevel DEBUG3"}})
			keygen(t, "-p", "-a", "1", "-N", marks.passphrase, "-f", s.IdentityFile)
			proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
			must(t, err)
			t.Cleanup(func() { must(t, proxy.Close()) })
			g := openTarget(t, s, func(o *Options) {
				o.Port, o.AcceptNew, o.ConnectTimeout = proxy.Port(), true, time.Minute
				o.Passphrase = func(context.Context, string) ([]byte, error) { return []byte(marks.passphrase), nil }
				o.Helper, o.Helpers = mode.policy, helpertest.Bundle(t)
			})
			told := []string{}
			for _, padding := range []int{0, 300 << 10} { // of which a command line holds only the first
				g.wantUntold(t, marks, padding)
			}
			for _, c := range []ops.Command{
				{Script: "echo " + marks.script, Dir: g.dir + "/none", Env: map[string]string{"KEY": marks.value}},
				{Script: "echo " + marks.script, Dir: g.dir, Env: map[string]string{"KEY": marks.value + "\x00"}},
				{Script: "echo " + marks.script, Dir: g.dir, Env: map[string]string{"A KEY": marks.value}},
				{Script: "echo " + marks.script + "\x00", Dir: g.dir, Env: map[string]string{"KEY": marks.value}},
				{Script: "echo started; sleep 600 # " + marks.script, Dir: g.dir, Env: map[string]string{"KEY": marks.value}},
			} {
				var once sync.Once
				_, err := g.Set().Bash.Exec(t.Context(), c, func(ops.Chunk) { once.Do(proxy.Reset) })
				if err == nil {
					t.Errorf("no error from %q", c.Script)
					continue
				}
				told = append(told, err.Error())
			}
			told = append(told, g.notices.String(), s.Log())
			for _, text := range told {
				if list := marks.in(text); len(list) > 0 {
					t.Errorf("%q are told in %s", list, text)
				}
			}
			if !strings.Contains(s.Log(), "debug3:") {
				t.Error("the server's log does not tell everything")
			}
		})
	}
}

// wantUntold runs a command that is longer than padding, and looks at all processes
// meanwhile.
func (g *target) wantUntold(t *testing.T, marks secrets, padding int) {
	t.Helper()
	stop := marks.watch()
	release := filepath.Join(g.dir, "release")
	_ = os.Remove(release) // the last command had one
	script := "echo $$; while [ ! -e release ]; do sleep 0.05; done; printf %s \"$KEY\" # " + marks.script + strings.Repeat("x", padding)
	var out strings.Builder
	var once sync.Once
	during := map[shown]string{}
	exit, err := g.Set().Bash.Exec(t.Context(), ops.Command{Script: script, Dir: g.dir, Env: map[string]string{"KEY": marks.value}}, func(c ops.Chunk) {
		out.Write(c.Data)
		once.Do(func() {
			marks.look(during) // at least one look falls into its run
			if err := os.WriteFile(release, nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	})
	first, value, _ := strings.Cut(out.String(), "\n")
	shell, perr := strconv.Atoi(first)
	if err != nil || perr != nil || exit.Code != 0 || value != marks.value {
		t.Fatalf("%q, %+v, %v", out.String(), exit, err)
	}
	own := 0
	maps.Copy(during, stop())
	for p, line := range during {
		if p.mark == marks.script && (p.pid == shell || p.parent == shell) {
			own++
			continue
		}
		t.Errorf("process %d, child of %d, tells %s: %s", p.pid, p.parent, p.mark, line)
	}
	if padding == 0 && own == 0 {
		t.Error("the command's own shell was not seen")
	}
}
