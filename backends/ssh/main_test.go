//go:build linux

package ssh

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6") // those that are parallel mostly wait
	}
	goleak.VerifyTestMain(m)
}

// target is a workspace on a private sshd of this machine.
type target struct {
	*Workspace
	server  *servers.SSHD
	options Options
	dir     string // the workspace's folder
	outside string // a folder beside it
	notices *notices
}

// notices collects warnings.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

func (n *notices) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, "\n")
}

func optionsFor(t testing.TB, s *servers.SSHD) (Options, *notices) {
	t.Helper()
	n := &notices{}
	return Options{
		Host: s.Host, Port: s.Port, User: s.User, Home: s.Home, ConfigFile: "none", ConnectTimeout: 10 * time.Second,
		KnownHosts: []string{filepath.Join(s.Home, ".ssh", "known_hosts")}, Notice: n.add,
	}, n
}

// open opens a fresh folder on a server.
func openTarget(t testing.TB, s *servers.SSHD, change func(*Options)) *target {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	g := &target{server: s, dir: base + "/ws", outside: base + "/ws-out"}
	must(t, os.Mkdir(g.dir, 0o755))
	must(t, os.Mkdir(g.outside, 0o755))
	g.options, g.notices = optionsFor(t, s)
	g.options.Dir = g.dir
	if change != nil {
		change(&g.options)
	}
	g.Workspace, err = Open(t.Context(), g.options)
	must(t, err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error("close: ", err)
		}
		left, _ := filepath.Glob(base + "/*/.piremote-*")
		if len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
	return g
}

func (g *target) put(t testing.TB, name, data string, mode os.FileMode) string {
	t.Helper()
	p := filepath.Join(g.dir, name)
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(data), 0o644))
	must(t, os.Chmod(p, mode))
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: error is %v, want %v", what, err, target)
	}
}

func wantKind(t *testing.T, what string, err error, kind ops.Kind, words ...string) {
	t.Helper()
	if ops.KindOf(err) != kind {
		t.Errorf("%s: error is %v (kind %q), want kind %q", what, err, ops.KindOf(err), kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

// run runs a command and returns its output.
func (g *target) run(ctx context.Context, script string) (string, ops.Exit, error) {
	var out strings.Builder
	exit, err := g.Set().Bash.Exec(ctx, ops.Command{Script: script, Dir: g.dir}, func(c ops.Chunk) { out.Write(c.Data) }) //nolint:contextcheck // At has a time of its own
	return out.String(), exit, err
}

// eventually polls until ready.
func eventually(t *testing.T, what string, limit time.Duration, ready func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ready() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

func must2(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	return data
}
