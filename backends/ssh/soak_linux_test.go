package ssh

import (
	"context"
	"encoding/json"
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
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// How long mixed work goes on over all kinds of servers together, in the short form
// and in the long one, by how many workers, and after how many operations of each
// the link breaks.
const (
	shortSoak, longSoak = 2 * time.Minute, 30 * time.Minute
	soakers             = 3
	soakBreak           = 5
	soakAtOnce          = 3 // kinds at a time
)

// What the folder for searches holds, and its word in each.
const (
	soakTree   = "tree"
	soakFiles  = 20
	soakNeedle = "needle"
)

// Mixed work on every kind of server over links that break or fall silent, at any
// byte of an operation: what an operation says is what happened, and at the end
// nothing is left: no process, no descriptor, and no temporary file but those of writes
// by SFTP alone whose link broke, which nobody at the target can remove. Goroutines are
// counted at the end of the package's tests.
func TestSoak(t *testing.T) {
	total := shortSoak
	if often(1, 2) == 2 {
		total = longSoak
	}
	kinds := servers.Kinds()
	bundle := helpertest.Bundle(t)
	before := descriptors(t)
	slots := make(chan struct{}, soakAtOnce)
	t.Run("kinds", func(t *testing.T) {
		for _, kind := range kinds {
			t.Run(kind.Name, func(t *testing.T) {
				t.Parallel() // most of it is waiting for links that are silent
				slots <- struct{}{}
				defer func() { <-slots }()
				s := kind.Start(t)
				policies := []helper.Policy{helper.Never}
				if !kind.NoShell {
					policies = append(policies, helper.Require)
				}
				for _, policy := range policies {
					ctx, cancel := context.WithTimeout(t.Context(), total/time.Duration(len(kinds)*len(policies)))
					k := newSoak(t, s, policy, func(o *Options) { o.Helpers = bundle })
					k.noShell = kind.NoShell
					k.run(ctx, t)
					cancel()
				}
			})
		}
	})
	eventually(t, "the end of descriptors", time.Minute, func() bool { return descriptors(t) <= before })
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
	set       ops.Set
	proxy     *faultproxy.Proxy
	host, dir string // the folder, here and there
	fixture   backendtest.Fixture
	arg       string       // of the processes that it starts
	done      atomic.Int64 // operations that succeeded
	failed    atomic.Int64 // that a broken link ended
	wrote     atomic.Int64 // that may have left a temporary file
	policy    helper.Policy
	noShell   bool
	options   Options
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
	o.AcceptNew, o.Dir, o.Helper, o.ConnectTimeout = true, k.dir, policy, time.Minute
	change(&o)
	k.options = o
	o.Port, o.Keepalive, o.KeepaliveCount = proxy.Port(), lifeSign, 2*lifeSigns
	for i := range soakFiles {
		must(t, k.fixture.PutFile(fmt.Sprintf("%s/%s/%02d", k.dir, soakTree, i), []byte("one\n"+soakNeedle+"\n"+strings.Repeat("line\n", 1000)), 0o644))
	}
	k.Workspace, err = Open(t.Context(), o)
	must(t, err)
	k.set = k.Set()
	return k
}

// run works until ctx ends, and on a slow machine long enough for a step of each kind.
func (k *soak) run(ctx context.Context, t *testing.T) {
	var workers sync.WaitGroup
	for i := range soakers {
		workers.Go(func() {
			w := &soaker{soak: k, file: fmt.Sprintf("file-%d", i), may: []string{""}}
			must(t, k.fixture.PutFile(k.dir+"/"+w.file, nil, 0o644))
			for n := 1; n <= soakSteps || ctx.Err() == nil; n++ {
				if n%soakBreak == 0 {
					k.harm()
				}
				w.step(t, n) //nolint:contextcheck // an operation that has begun ends in its own time
			}
			if got := string(must2(t, filepath.Join(k.host, w.file))); !slices.Contains(w.may, got) {
				t.Errorf("%s holds %.60q at the end", w.file, got)
			}
		})
	}
	workers.Wait()
	for _, d := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} { // what is lost is ended over a link that holds
		k.proxy.CutAfter(d, -1)
		k.proxy.StallAfter(d, -1)
	}
	if err := k.Close(); err != nil { //nolint:contextcheck // it has a time of its own
		t.Error("close: ", err)
	}
	k.proxy.Reset() // the target's ends of silent links
	t.Logf("helper %q: %d operations, %d ended by a broken link", k.policy, k.done.Load(), k.failed.Load())
	if k.done.Load() == 0 {
		t.Error("nothing was done")
	}
	eventually(t, "the end of what was started", time.Minute, func() bool {
		n, err := k.fixture.ProcessesWith(k.arg)
		return err == nil && n == 0
	})
	k.noneLeft(t) //nolint:contextcheck // it has a time of its own
}

// harm lets the link break now or within the next operations, or fall silent there.
func (k *soak) harm() {
	d, n := faultproxy.Direction(rand.IntN(2)), int64(rand.IntN(20_000))
	switch rand.IntN(3) {
	case 0:
		k.proxy.Reset()
	case 1:
		k.proxy.CutAfter(d, n)
	default:
		k.proxy.StallAfter(d, n)
	}
}

// noneLeft looks for temporary files. A script of the shell removes its own when its
// link breaks; the next helper removes what the one before left, when it first writes
// to the folder. By SFTP alone what a broken link leaves stays.
func (k *soak) noneLeft(t *testing.T) {
	t.Helper()
	if k.policy == helper.Require {
		w, err := Open(t.Context(), k.options)
		must(t, err)
		_, err = w.Set().Write.WriteFile(t.Context(), k.dir+"/last", nil)
		must(t, err)
		must(t, w.Close())
	}
	allowed := int64(0)
	if k.noShell {
		allowed = k.wrote.Load()
	}
	var left []string
	defer func() {
		if t.Failed() {
			t.Logf("left behind: %q", left)
		}
	}()
	eventually(t, "the end of temporary files", time.Minute, func() bool {
		var err error
		left, err = filepath.Glob(filepath.Join(k.host, ".piremote-*"))
		return err == nil && int64(len(left)) <= allowed
	})
}

// soaker works on a file of its own.
type soaker struct {
	*soak
	file string
	may  []string // what the file may hold: more than one after an unknown outcome
}

// soakTime is far more than an operation needs on a slow machine.
const soakTime = 2 * time.Minute

// soakSteps is how many kinds of steps there are.
const soakSteps = 8

// step does one operation and compares it with what has to come of it.
func (w *soaker) step(t *testing.T, n int) {
	ctx, cancel := context.WithTimeout(t.Context(), soakTime)
	defer cancel()
	var err error
	changes := false
	switch do := n % soakSteps; {
	case do == 1 || do == 5 && (len(w.may) > 1 || w.may[0] == ""):
		changes = true
		text := fmt.Sprintf("line %d of %s\n", n, w.file) + strings.Repeat("x", rand.IntN(100_000))
		_, err = w.set.Write.WriteFile(ctx, w.dir+"/"+w.file, []byte(text))
		w.became(text, err)
	case do == 5:
		changes = true
		first, rest, _ := strings.Cut(w.may[0], "\n")
		line := fmt.Sprintf("edit %d of %s", n, w.file)
		_, err = w.tool(ctx, "edit", map[string]any{"path": w.file, "edits": []map[string]string{{"oldText": first + "\n", "newText": line + "\n"}}})
		w.became(line+"\n"+rest, err)
	case do == 2:
		var got []byte
		if got, err = w.set.Read.ReadFile(ctx, w.dir+"/"+w.file, 0); err == nil && !slices.Contains(w.may, string(got)) {
			t.Errorf("%s holds %.60q", w.file, got)
		}
	case do == 3:
		err = w.finds(ctx, t, "ls", map[string]any{"path": soakTree})
	case do == 6:
		err = w.finds(ctx, t, "grep", map[string]any{"path": soakTree, "pattern": "need.e"})
	case do == 7 || w.set.Bash == nil:
		_, err = w.set.Ls.Stat(ctx, w.dir+"/"+w.file)
	default:
		err = w.command(ctx, t, n)
	}
	switch kind := ops.KindOf(err); {
	case err == nil:
		w.done.Add(1)
	case kind == ops.KindUnavailable || kind == ops.KindOutcomeUnknown || kind == ops.KindNoStatus:
		w.failed.Add(1)
		if changes {
			w.wrote.Add(1)
		}
	default:
		t.Errorf("step %d of %s: %v (kind %q)", n, w.file, err, kind)
	}
}

// became notes what the file holds after a change that ended with err.
func (w *soaker) became(text string, err error) {
	switch {
	case err == nil:
		w.may = []string{text}
	case ops.KindOf(err) == ops.KindOutcomeUnknown:
		w.may = append(w.may, text)
	}
}

// finds calls a tool that names each file of the tree.
func (w *soaker) finds(ctx context.Context, t *testing.T, name string, args map[string]any) error {
	text, err := w.tool(ctx, name, args)
	for i := 0; err == nil && i < soakFiles; i++ {
		if !strings.Contains(text, fmt.Sprintf("%02d", i)) {
			t.Errorf("%s does not tell of file %d: %.300q", name, i, text)
			break
		}
	}
	return err
}

// command runs one that leaves a process behind.
func (w *soaker) command(ctx context.Context, t *testing.T, n int) error {
	var out strings.Builder
	script := fmt.Sprintf("sleep %s & echo %d; exit 3", w.arg, n)
	exit, err := w.set.Bash.Exec(ctx, ops.Command{Script: script, Dir: w.dir}, func(c ops.Chunk) { out.Write(c.Data) })
	if want := fmt.Sprintf("%d\n", n); err == nil && (out.String() != want || exit.Code != 3) {
		t.Errorf("command %d: %q, %+v", n, out.String(), exit)
	}
	return err
}

// tool calls a tool and returns its text.
func (w *soaker) tool(ctx context.Context, name string, args map[string]any) (string, error) {
	list, err := tools.New(w.set, []string{name}, tools.Options{})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	r, err := list[0].Execute(ctx, tool.Call{ID: "1", Args: text}, func(tool.Result) {})
	var out strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(tool.Text); ok {
			out.WriteString(c.Text)
		}
	}
	return out.String(), err
}
