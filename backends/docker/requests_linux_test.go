package docker

import (
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// count is how many of the requests until now are of a kind; all are forgotten.
func (r *requests) count(kind string) (n int) {
	for _, request := range r.take() {
		if request == kind {
			n++
		}
	}
	return n
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
// command takes none, nor does the end of its tree.
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
	exit, err := s.Set().Bash.Exec(t.Context(), ops.Command{Script: "trap '' TERM; setsid sleep 300 & sleep 300; :", Timeout: time.Second, Grace: 100 * time.Millisecond}, nil)
	if err != nil || !exit.TimedOut || len(exit.Survivors) > 0 {
		t.Errorf("%+v, %v", exit, err)
	}
	if more := r.take(); len(more) > 0 {
		t.Errorf("further commands took %q", more)
	}
}
