package ssh

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// sleeper says in the environment that the test's program is the client that is put
// to sleep, and with which server.
const sleeper = "PIREMOTE_TEST_SLEEPER"

type sleeperOptions struct {
	Host, User, Home, Dir string
	Port                  int
	Helper                helper.Policy
}

// A client that was stopped for longer than its keepalives allow, as on a machine
// that slept, takes the result of its command when it goes on: over the connection
// that it had, or, behind a helper that gave the silent client up and keeps its
// commands for the lease, over one new one.
func TestSSHC11ClientThatSlept(t *testing.T) {
	if text := os.Getenv(sleeper); text != "" { //nolint:forbidigo // this is the client
		beSleeper(t, text)
		return
	}
	for name, policy := range map[string]helper.Policy{"agentless": helper.Never, "helper": helper.Require} {
		t.Run(name, func(t *testing.T) {
			s := servers.StartSSHD(t, servers.SSHDOptions{})
			_, dir := s.Folder(t)
			text, err := json.Marshal(sleeperOptions{s.Host, s.User, s.Home, dir, s.Port, policy})
			must(t, err)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSSHC11ClientThatSlept$", "-test.v")
			cmd.Env, cmd.WaitDelay = append(os.Environ(), sleeper+"="+string(text)), time.Second
			stdout, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			lines := bufio.NewReader(stdout)
			said := expectLine(t, lines, "began")
			before := strings.Count(s.Log(), "Accepted publickey")
			must(t, cmd.Process.Signal(syscall.SIGSTOP))
			must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
			eventually(t, "the end of the command", time.Minute, func() bool {
				_, err := os.Stat(filepath.Join(dir, "ended"))
				return err == nil
			})
			must(t, cmd.Process.Signal(syscall.SIGCONT))
			said += expectLine(t, lines, "result: ")
			if !strings.Contains(said, `result: "ok\n" 3 <nil>`) {
				t.Errorf("the client says %s", said)
			}
			for err == nil {
				_, err = lines.ReadString('\n')
			}
			must(t, cmd.Wait())
			most := map[helper.Policy]int{helper.Never: before, helper.Require: before + 1}[policy]
			if n := strings.Count(s.Log(), "Accepted publickey"); n > most {
				t.Errorf("%d connections, and %d before the sleep", n, before)
			}
		})
	}
}

// expectLine reads up to a line with the words.
func expectLine(t *testing.T, r *bufio.Reader, words string) (said string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		said += line
		if strings.Contains(line, words) {
			return said
		}
		if err != nil {
			t.Fatalf("the client ended without %q: %s", words, said)
		}
	}
}

// beSleeper runs a command that goes on, once it is told to, for longer than the
// keepalives last.
func beSleeper(t *testing.T, text string) {
	var so sleeperOptions
	must(t, json.Unmarshal([]byte(text), &so))
	o := Options{
		Host: so.Host, Port: so.Port, User: so.User, Home: so.Home, ConfigFile: "none", Dir: so.Dir,
		Keepalive: 500 * time.Millisecond, KeepaliveCount: 2, Helper: so.Helper, Lease: 10 * time.Minute,
	}
	if so.Helper != helper.Never {
		o.Helpers = helpertest.Bundle(t) // it takes its time
	}
	w, err := Open(t.Context(), o)
	must(t, err)
	var out strings.Builder
	exit, err := w.Set().Bash.Exec(t.Context(), ops.Command{
		Script: "echo ready; until test -e go; do sleep 0.1; done; sleep 3; echo ok; touch ended; exit 3", Dir: so.Dir,
	}, func(c ops.Chunk) {
		if out.Len() == 0 {
			_, _ = os.Stdout.WriteString("began\n")
		}
		out.Write(c.Data)
	})
	_, werr := fmt.Fprintf(os.Stdout, "result: %q %d %v\n", strings.TrimPrefix(out.String(), "ready\n"), exit.Code, err)
	must(t, werr)
	must(t, w.Close())
}
