package docker

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// requests are those that a client made to a daemon, in the order in which they went
// out, without ids and versions.
type requests struct {
	mu   sync.Mutex
	list []string
}

// watch lets a client go to its daemon past an observer.
func (r *requests) watch(o *Options) {
	socket := strings.TrimPrefix(o.Host, "unix://")
	o.Host = "ssh://daemon"
	o.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		return &watched{conn.(*net.UnixConn), r}, nil
	}
}

// take returns the requests until now, and forgets them.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// watched is a connection, on which each request begins with a write of its own.
type watched struct {
	*net.UnixConn
	all *requests
}

var (
	requestLine = regexp.MustCompile(`^((?:HEAD|GET|PUT|POST|DELETE) /\S*) HTTP/1\.1\r\n`)
	requestName = regexp.MustCompile(`/v[0-9.]+|/[0-9a-f]{64}|\?.*`)
)

func (w *watched) Write(b []byte) (int, error) {
	if m := requestLine.FindSubmatch(b); m != nil {
		w.all.mu.Lock()
		w.all.list = append(w.all.list, requestName.ReplaceAllString(string(m[1]), ""))
		w.all.mu.Unlock()
	}
	return w.UnixConn.Write(b)
}

// A sandbox takes these requests to the daemon up to the result of its first command;
// each costs the time that BenchmarkSandboxStart compares with docker run. A further
// command takes none.
func TestSandboxStartsByFewRequests(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	var r requests
	r.watch(&o.Options)
	s := sandbox(t, o)
	sh(t, s.Set(), "true")
	got := r.take()
	slices.Sort(got) // two are made at the same time
	want := []string{
		"HEAD /_ping", "GET /info", "GET /images/" + o.Image + "/json", // what can be made
		"POST /containers/create", "PUT /containers/archive", "POST /containers/restart",
		"GET /containers/json", "POST /containers/exec", "POST /exec/start", // the helper
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	sh(t, s.Set(), "true")
	if more := r.take(); len(more) > 0 {
		t.Errorf("a further command took %q", more)
	}
}

// A tree that ignores what asks it to end is ended by one process in the container beside
// its own, whether it times out or is aborted; the helper needs none, nor anything else
// of the daemon.
func TestDKX01ATreeIsEndedByOneProcess(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	for policy, want := range map[helper.Policy]int{helper.Require: 0, helper.Never: 2} {
		o := Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)}
		var r requests
		r.watch(&o)
		set := opened(t, o)
		for _, how := range []string{"timeout", "abort"} {
			ctx, cancel := context.WithCancel(t.Context())
			cmd := ops.Command{Script: "trap '' TERM; setsid sleep 300 & sleep 300 & echo ready; while :; do sleep 300; done", Grace: 100 * time.Millisecond}
			if how == "timeout" {
				cmd.Timeout = 4 * time.Second
			}
			r.take()
			exit, err := set.Bash.Exec(ctx, cmd, func(c ops.Chunk) {
				if how == "abort" && strings.Contains(string(c.Data), "ready") {
					cancel()
				}
			})
			cancel()
			if exit.TimedOut != (how == "timeout") || errors.Is(err, context.Canceled) != (how == "abort") || exit.Killed < 3 || len(exit.Survivors) > 0 {
				t.Errorf("%s, %s: %+v, %v", policy, how, exit, err)
			}
			started := 0
			for _, request := range r.take() {
				if request == "POST /exec/start" {
					started++
				}
			}
			if started != want {
				t.Errorf("%s, %s: %d processes were started, want %d", policy, how, started, want)
			}
		}
	}
}
