package ssh

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// How long mixed work goes on over all kinds of servers together, in the short form
// and in the long one, by how many workers, and after how many operations of each
// the link breaks.
const (
	shortSoak, longSoak = 2 * time.Minute, 30 * time.Minute
	soakers             = 3
	soakBreak           = 25
)

// Mixed work on every kind of server over links that break: what an operation says is
// what happened, and at the end nothing is left: no process, no temporary file, no
// descriptor. Goroutines are counted at the end of the package's tests.
func TestSoak(t *testing.T) {
	total := shortSoak
	if often(1, 2) == 2 {
		total = longSoak
	}
	kinds := servers.Kinds()
	bundle := helpertest.Bundle(t)
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			before := descriptors(t)
			t.Run("work", func(t *testing.T) {
				s := kind.Start(t)
				policies := []helper.Policy{helper.Never}
				if !kind.NoShell {
					policies = append(policies, helper.Require)
				}
				for _, policy := range policies {
					ctx, cancel := context.WithTimeout(t.Context(), total/time.Duration(len(kinds)*len(policies)))
					newSoak(t, s, policy, func(o *Options) { o.Helpers = bundle }).run(ctx, t)
					cancel()
				}
			})
			eventually(t, "the end of descriptors", time.Minute, func() bool { return descriptors(t) <= before })
		})
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

// soak is work on one workspace.
type soak struct {
	*Workspace
	proxy     *faultproxy.Proxy
	host, dir string // the folder, here and there
	fixture   backendtest.Fixture
	arg       string       // of the processes that it starts
	done      atomic.Int64 // operations that succeeded
	failed    atomic.Int64 // that a broken link ended
	policy    helper.Policy
}

func newSoak(t *testing.T, s *servers.SSHD, policy helper.Policy, change func(*Options)) *soak {
	t.Helper()
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	t.Cleanup(func() { must(t, proxy.Close()) })
	k := &soak{proxy: proxy, policy: policy, arg: fmt.Sprintf("600.%09d", rand.IntN(1e9))}
	k.host, k.dir = s.Folder(t)
	k.fixture = backendtest.HostDirOf(k.host, k.dir, s.UID())
	o, _ := optionsFor(t, s)
	o.Port, o.AcceptNew, o.Dir, o.Helper, o.ConnectTimeout = proxy.Port(), true, k.dir, policy, time.Minute
	change(&o)
	k.Workspace, err = Open(t.Context(), o)
	must(t, err)
	return k
}

// run works until ctx ends.
func (k *soak) run(ctx context.Context, t *testing.T) {
	var workers sync.WaitGroup
	for i := range soakers {
		workers.Go(func() {
			w := &soaker{soak: k, file: fmt.Sprintf("file-%d", i), may: []string{""}}
			must(t, k.fixture.PutFile(k.dir+"/"+w.file, nil, 0o644))
			for n := 1; ctx.Err() == nil; n++ {
				if n%soakBreak == 0 {
					k.proxy.Reset()
				}
				w.step(t, n) //nolint:contextcheck // an operation that has begun ends in its own time
			}
			if got := string(must2(t, filepath.Join(k.host, w.file))); !slices.Contains(w.may, got) {
				t.Errorf("%s holds %.60q at the end", w.file, got)
			}
		})
	}
	workers.Wait()
	if err := k.Close(); err != nil { //nolint:contextcheck // it has a time of its own
		t.Error("close: ", err)
	}
	t.Logf("helper %q: %d operations, %d ended by a broken link", k.policy, k.done.Load(), k.failed.Load())
	if k.done.Load() == 0 {
		t.Error("nothing was done")
	}
	eventually(t, "the end of what was started", time.Minute, func() bool {
		n, err := k.fixture.ProcessesWith(k.arg)
		return err == nil && n == 0
	})
	left, err := filepath.Glob(filepath.Join(k.host, ".piremote-*"))
	must(t, err)
	if len(left) > 0 && k.failed.Load() == 0 {
		t.Errorf("left behind: %q", left)
	}
}

// soaker works on a file of its own.
type soaker struct {
	*soak
	file string
	may  []string // what the file may hold: more than one after an unknown outcome
}

// soakTime is far more than an operation needs on a slow machine.
const soakTime = 2 * time.Minute

func (w *soaker) step(t *testing.T, n int) {
	ctx, cancel := context.WithTimeout(t.Context(), soakTime)
	defer cancel()
	path, set := w.dir+"/"+w.file, w.Set()
	var err error
	switch {
	case n%4 == 1:
		text := fmt.Sprintf("line %d of %s\n", n, w.file) + strings.Repeat("x", rand.IntN(100_000))
		if _, err = set.Write.WriteFile(ctx, path, []byte(text)); err == nil {
			w.may = []string{text}
		} else if ops.KindOf(err) == ops.KindOutcomeUnknown {
			w.may = append(w.may, text)
		}
	case n%4 == 2:
		var got []byte
		if got, err = set.Read.ReadFile(ctx, path, 0); err == nil && !slices.Contains(w.may, string(got)) {
			t.Errorf("%s holds %.60q", w.file, got)
		}
	case n%4 == 3 || set.Bash == nil:
		_, err = set.Ls.Stat(ctx, path)
	default:
		var out strings.Builder
		var exit ops.Exit
		script := fmt.Sprintf("sleep %s & echo %d; exit 3", w.arg, n)
		exit, err = set.Bash.Exec(ctx, ops.Command{Script: script, Dir: w.dir}, func(c ops.Chunk) { out.Write(c.Data) })
		if want := fmt.Sprintf("%d\n", n); err == nil && (out.String() != want || exit.Code != 3) {
			t.Errorf("command %d: %q, %+v", n, out.String(), exit)
		}
	}
	switch kind := ops.KindOf(err); {
	case err == nil:
		w.done.Add(1)
	case kind == ops.KindUnavailable || kind == ops.KindOutcomeUnknown || kind == ops.KindNoStatus:
		w.failed.Add(1)
	default:
		t.Errorf("step %d of %s: %v (kind %q)", n, w.file, err, kind)
	}
}
