package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// distance is what a link adds to a round trip.
const distance = 200 * time.Millisecond

// Calls of one batch change one file under several names, on each kind of workspace and
// over a slow link: every change is there, in the order of the calls.
func TestMUTQ01BatchesKeepEveryChange(t *testing.T) {
	t.Parallel() // most of it waits for the link
	long := os.Getenv("PIREMOTE_SOAK") == "1"
	s, d, bundle := servers.StartSSHD(t, servers.SSHDOptions{}), servers.StartDockerd(t), helpertest.Bundle(t)
	port := slowLink(t, s)
	container := d.Run(t, servers.ContainerOptions{})
	for name, open := range map[string]func(t *testing.T) (ops.Set, func() error){
		"local": func(t *testing.T) (ops.Set, func() error) {
			t.Helper()
			w, err := Open(t.Context(), Options{Workspace: config.Workspace{Backend: "local", Path: t.TempDir()}, Config: &config.Config{}, Env: os.Environ()})
			if err != nil {
				t.Fatal(err)
			}
			return w.Set, w.Close
		},
		"ssh": func(t *testing.T) (ops.Set, func() error) {
			t.Helper()
			return overSSH(t, s, port, func(o *ssh.Options) { o.Helper, o.Helpers = helper.Require, bundle })
		},
		"ssh without helper": func(t *testing.T) (ops.Set, func() error) {
			t.Helper()
			return overSSH(t, s, port, func(o *ssh.Options) { o.Helper = helper.Never })
		},
		"docker": func(t *testing.T) (ops.Set, func() error) {
			t.Helper()
			return overDocker(t, s, d, port, container, func(o *docker.Options) { o.Helper, o.Helpers = helper.Require, bundle })
		},
		"docker without helper": func(t *testing.T) (ops.Set, func() error) {
			t.Helper()
			return overDocker(t, s, d, port, container, func(o *docker.Options) { o.Helper = helper.Never })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, done := open(t)
			list, err := tools.New(set, []string{"write", "edit"}, tools.Options{})
			if err != nil {
				t.Fatal(err)
			}
			x := call.New(call.Options{Tools: func() []tool.Tool { return list }})
			rounds := 20
			switch slow := name == "docker without helper"; { // each script is an exec, with a channel and four requests
			case long && slow:
				rounds = 50
			case long:
				rounds = 500
			case slow:
				rounds = 3
			}
			batchWorkspace(t, set)
			for round := range rounds {
				if batchRound(t, x, set, round); t.Failed() {
					break
				}
			}
			if !set.Mutations.Idle() {
				t.Error("a place in a queue is left")
			}
			if err := done(); err != nil {
				t.Error(err)
			}
		})
	}
}

// slowLink returns the port of a link to a server that is far away.
func slowLink(t *testing.T, s *servers.SSHD) int {
	t.Helper()
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address(), Delay: distance / 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	known, err := os.ReadFile(s.KnownHosts)
	if err == nil {
		known = append(bytes.TrimRight(known, "\n"), fmt.Sprintf("\n[%s]:%d %s", s.Host, proxy.Port(), gossh.MarshalAuthorizedKey(s.HostKey))...)
		err = os.WriteFile(s.KnownHosts, known, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return proxy.Port()
}

func overSSH(t *testing.T, s *servers.SSHD, port int, change func(*ssh.Options)) (ops.Set, func() error) {
	t.Helper()
	_, dir := s.Folder(t)
	o := sshOptions(Options{
		Workspace: config.Workspace{
			Backend: "ssh", Host: s.Host, Port: port, User: s.User, Path: dir,
			IdentityFiles: []string{s.IdentityFile}, KnownHosts: []string{s.KnownHosts},
		},
		Config: &config.Config{SSH: config.SSH{ConfigFile: "none", ConnectTimeout: time.Minute, Keepalive: time.Hour}},
		Env:    []string{"HOME=" + s.Home},
	})
	change(&o)
	w, err := ssh.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return w.Set(), w.Close
}

func overDocker(t *testing.T, s *servers.SSHD, d *servers.Dockerd, port int, container string, change func(*docker.Options)) (ops.Set, func() error) {
	t.Helper()
	b := behind(s, container, strings.TrimPrefix(d.Host, "unix://"))
	b.Workspace.Endpoint = strings.Replace(b.Workspace.Endpoint, fmt.Sprint(":", s.Port), fmt.Sprint(":", port), 1)
	o, done := dockerOptions(b)
	o.Dir = "/tmp"
	change(&o)
	w, err := docker.Open(t.Context(), o)
	if err != nil {
		done()
		t.Fatal(err)
	}
	set := w.Set()
	dir := "/tmp/" + filepath.Base(filepath.Dir(t.TempDir()))
	if err = set.Write.MkdirAll(t.Context(), dir); err == nil {
		set, err = set.At(dir, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set, before(done, w.Close)
}

// batchWorkspace makes a folder and its second name.
func batchWorkspace(t *testing.T, set ops.Set) {
	t.Helper()
	err := set.Write.MkdirAll(t.Context(), set.Target.Dir+"/real")
	if err == nil {
		var exit ops.Exit
		exit, err = set.Bash.Exec(t.Context(), ops.Command{Script: "ln -s real alias && ln -s real/f link", Timeout: time.Minute}, nil)
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("exit code %d", exit.Code)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// batchRound makes a new file through the folder's second name and changes it under
// four more.
func batchRound(t *testing.T, x *call.Executor, set ops.Set, round int) {
	t.Helper()
	begin := fmt.Sprintf("round %d\n", round)
	requests := []call.Request{batchCall(t, "write", map[string]any{"path": "alias/f", "content": begin + "end\n"})}
	want := begin
	for i, name := range []string{"real/f", "link", "alias/../real/f", "alias/f"} {
		line := fmt.Sprintf("%d by %s\n", i, name)
		want += line
		requests = append(requests, batchCall(t, "edit", map[string]any{"path": name, "edits": []map[string]string{{"oldText": "end\n", "newText": line + "end\n"}}}))
	}
	var outcomes []<-chan call.Outcome
	for _, request := range requests {
		p, done := x.Prepare(t.Context(), request), make(chan call.Outcome, 1)
		p.Reserve()
		outcomes = append(outcomes, done)
		go func() { done <- x.Run(t.Context(), p, nil) }()
	}
	for i, done := range outcomes {
		if o := <-done; o.IsError {
			t.Errorf("round %d, call %d: %s", round, i, tool.TextOf(o.Result.Content))
		}
	}
	got, err := set.Read.ReadFile(t.Context(), set.Target.Dir+"/real/f", 0)
	if want += "end\n"; err != nil || string(got) != want {
		t.Errorf("round %d: %q, %v, want %q", round, got, err, want)
	}
}

func batchCall(t *testing.T, name string, args map[string]any) call.Request {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return call.Request{ID: name, Name: name, Args: raw}
}
