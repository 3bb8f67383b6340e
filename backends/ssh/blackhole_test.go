//go:build linux

package ssh

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// A link that goes dead without a word frees whatever waits for it: each tool on
// each kind of target, with a typed error, in the time that the signs of life give;
// and nothing stays behind in this process (hazards SSHC-02, SFTP-06). Behind the
// helper that includes the patience with which a call listens for a sign of life on
// another link, where it could ask what became of it.
func TestSSHC02BlackHoleDuringEachOperation(t *testing.T) {
	all := []string{"stat", "read", "write", "edit", "ls", "find", "grep", "bash"}
	for name, c := range map[string]struct {
		server servers.SSHDOptions
		policy helper.Policy
		tools  []string
	}{
		"with a shell": {servers.SSHDOptions{}, helper.Never, all},
		"SFTP only":    {servers.SSHDOptions{Config: []string{"ForceCommand internal-sftp"}}, helper.Never, all[:len(all)-1]},
		"helper":       {servers.SSHDOptions{}, helper.Require, all},
	} {
		t.Run(name, func(t *testing.T) {
			s := servers.StartSSHD(t, c.server)
			for _, tool := range c.tools {
				swallowed(t, s, c.policy, tool)
			}
		})
	}
}

// The signs of life of swallowed, and what their count allows.
const (
	lifeSign  = 500 * time.Millisecond
	lifeSigns = 2
	lifeBound = lifeSign*(lifeSigns+1) + time.Second
)

// swallowed runs a tool, and drops all that is sent from when a quarter of the answer
// has come: a search that reads ahead may need less the second time. A machine
// that is busy with other things may delay single attempts.
func swallowed(t *testing.T, s *servers.SSHD, policy helper.Policy, name string) {
	t.Helper()
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	const tries = 3
	var took time.Duration
	for range tries {
		took = swallow(t, s, proxy, policy, name)
		eventually(t, name+": the end of what was begun", time.Minute, func() bool {
			return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files
		})
		if took <= lifeBound {
			t.Logf("%s returned after %v", name, took)
			return
		}
	}
	t.Errorf("%s returned after %v, %v are allowed", name, took, lifeBound)
}

// swallow is one attempt. It returns how long the caller waited.
func swallow(t *testing.T, s *servers.SSHD, proxy *faultproxy.Proxy, policy helper.Policy, name string) time.Duration {
	t.Helper()
	o, _ := optionsFor(t, s)
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	o.Dir, o.Port, o.AcceptNew, o.Helper = base, proxy.Port(), true, policy
	if policy == helper.Require {
		o.Helpers = helpertest.Bundle(t)
	}
	o.Keepalive, o.KeepaliveCount = lifeSign, lifeSigns
	w, err := Open(t.Context(), o)
	must(t, err)
	defer func() {
		proxy.BlackHole(false)
		proxy.Reset() // the target's end of the dead link
		_ = w.Close() // what the link had to end ended with it
	}()
	for i := range 40 {
		must(t, os.WriteFile(filepath.Join(base, fmt.Sprint("f", i)), []byte(strings.Repeat("needle and more\n", 4000)+"end0\n"), 0o644))
	}
	run := caller(t, w.Set(), name)
	proxy.ResetCounts()
	must(t, run(0))
	part := max(1, proxy.Counts().Down/4)
	proxy.ResetCounts()
	proxy.StallAfter(faultproxy.Down, part)
	done := make(chan error, 1)
	go func() { done <- run(1) }()
	eventually(t, name+" on its way", time.Minute, func() bool { return proxy.Counts().Down >= part })
	proxy.BlackHole(true) // for new connections too
	begin := time.Now()
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s hangs:\n%s", name, buf[:runtime.Stack(buf, true)])
	}
	if k := ops.KindOf(err); k != ops.KindUnavailable && k != ops.KindOutcomeUnknown {
		t.Errorf("%s: %v (kind %q)", name, err, k)
	}
	return time.Since(begin)
}

// caller returns a call of a tool, or of stat, that can be made twice. The second
// of bash lasts.
func caller(t *testing.T, set ops.Set, name string) func(n int) error {
	t.Helper()
	if name == "stat" {
		return func(int) error { _, err := set.Ls.Stat(t.Context(), set.Target.Dir+"/f1"); return err }
	}
	list, err := tools.New(set, []string{name}, tools.Options{})
	must(t, err)
	return func(n int) error {
		args, err := json.Marshal(map[string]map[string]any{
			"read":  {"path": "f1"},
			"write": {"path": "f1", "content": strings.Repeat("new\n", 100_000)},
			"edit":  {"path": "f1", "edits": []map[string]string{{"oldText": fmt.Sprint("end", n), "newText": fmt.Sprint("end", n+1)}}},
			"ls":    {},
			"find":  {"pattern": "*1"},
			"grep":  {"pattern": "needle .*ore"},
			"bash":  {"command": []string{"echo begun", "echo begun; sleep 600"}[n]},
		}[name])
		must(t, err)
		_, err = list[0].Execute(t.Context(), tool.Call{ID: "1", Args: args}, func(tool.Result) {})
		return err
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}
