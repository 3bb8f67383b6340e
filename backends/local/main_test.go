package local

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/backends/local/supervisor"
	"github.com/piremote/piremote/tools/ops"
)

// The test binary is also the programs that the tests start: the first argument
// names one.
const (
	supervisorArg = "test-supervisor"
	writerArg     = "test-writer"
	parentArg     = "test-parent"
	editorArg     = "test-editor"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case supervisorArg:
			os.Exit(supervisor.Run(os.Args[2:], os.Stderr)) //nolint:forbidigo // the test binary stands in for a program
		case writerArg, parentArg, editorArg:
			os.Exit(program(os.Args[1], os.Args[2:])) //nolint:forbidigo // the test binary stands in for a program
		}
	}
	goleak.VerifyTestMain(m)
}

// mode is a way to run commands.
type mode struct {
	name       string
	supervised bool
}

func modes() []mode { return []mode{{"direct", false}, {"supervised", true}} }

// open opens a workspace on a new folder, closed with the test.
func open(t testing.TB, change ...func(*Options)) (*Workspace, engine, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Env: os.Environ(), SpillDir: t.TempDir()}
	for _, c := range change {
		c(&o)
	}
	w, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w, engine{w.main}, dir
}

func (m mode) options(t testing.TB) func(*Options) {
	t.Helper()
	return func(o *Options) {
		if !m.supervised {
			return
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		o.Supervisor, o.SupervisorArgs = self, []string{supervisorArg}
	}
}

// capture collects output and notices calls after the command returned.
type capture struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	over bool
	late bool
}

func (c *capture) chunk(k ops.Chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = c.late || c.over
	c.buf.Write(k.Data)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// run executes a command and checks that nothing is delivered afterwards.
func run(t testing.TB, ctx context.Context, e engine, cmd ops.Command) (ops.Exit, string, error) { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	c := &capture{}
	exit, err := e.Exec(ctx, cmd, c.chunk)
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	t.Cleanup(func() {
		if c.late {
			t.Error("output was delivered after Exec returned")
		}
	})
	return exit, c.String(), err
}

// hung is longer than anything takes on a busy machine that is not stuck.
const hung = time.Minute

// eventually polls until the condition holds.
func eventually(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// alive counts the processes in /proc, zombies aside, that carry the argument.
func alive(t testing.TB, arg string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc on this system")
	}
	var found []string
	for _, e := range entries {
		cmdline, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !strings.Contains(string(cmdline), "\x00"+arg+"\x00") && !strings.HasSuffix(string(cmdline), "\x00"+arg) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		if i := bytes.LastIndexByte(stat, ')'); i > 0 && i+2 < len(stat) && stat[i+2] != 'Z' && stat[i+2] != 'X' {
			found = append(found, e.Name())
		}
	}
	return found
}

// unique is a number of seconds that nothing else sleeps for.
func unique() string {
	return fmt.Sprintf("%d.%d", 3000+rand.IntN(5000), 1+rand.Int64N(1e15))
}
