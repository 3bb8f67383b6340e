package opstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/piremote/piremote/tools/ops"
)

// Exec runs a script by a shell interpreter in this process, on the tree. It
// knows the programs in programs.go.
func (v view) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	if err := ctx.Err(); err != nil {
		return ops.Exit{}, err
	}
	if cmd.Shell.Kind == ops.ShellPowerShell {
		return ops.Exit{}, &ops.TransportError{Kind: ops.KindNoShell, Target: "memory", Msg: "there is no PowerShell in memory"}
	}
	if err := v.checkDir(cmd.Dir); err != nil {
		return ops.Exit{}, err
	}
	exit := ops.Exit{Shell: "/bin/bash"}
	out := newSink(v.Memory, cmd, output)
	defer out.close()
	file, err := parse(cmd.Script)
	if err != nil {
		_, _ = fmt.Fprintf(out, "bash: %v\n", err)
		exit.Code = 2
		return exit, nil
	}
	j := v.jobs.start() //nolint:contextcheck // a command outlives its call
	runner, err := v.runner(j, cmd.Dir, cmd.Env, out)
	if err != nil {
		return ops.Exit{}, err
	}
	shell := make(chan error, 1)
	background := make(chan struct{})
	go func() { //nolint:contextcheck // as above
		shell <- runner.Run(j.ctx(), file)
		_ = runner.Run(context.WithoutCancel(j.ctx()), waitForAll()) // those that were killed have to end, too
		close(background)
		v.jobs.end(j)
	}()

	var timeout <-chan time.Time
	if cmd.Timeout > 0 {
		timer := time.NewTimer(cmd.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	kill := func() {
		exit.Killed = j.count() + 1
		j.cancel()
		<-background
	}
	select {
	case err := <-shell:
		exit.Code = exitCode(err)
	case <-timeout:
		exit.TimedOut = true
		kill()
	case <-ctx.Done():
		kill()
		return out.finish(exit), context.Cause(ctx)
	}
	if j.signal() != "" {
		exit.Signal = j.signal()
	}
	if !exit.TimedOut {
		exit.Background = v.leftBehind(j, cmd.Background, background)
	}
	return out.finish(exit), nil
}

// leftBehind treats what a finished script left in the background, and reports
// whether some of it still runs.
func (v view) leftBehind(j *job, policy ops.Background, done <-chan struct{}) bool {
	grace := time.NewTimer(50 * time.Millisecond)
	defer grace.Stop()
	select {
	case <-done:
		return false
	case <-grace.C:
	}
	switch policy {
	case ops.BackgroundKill:
		j.cancel()
		<-done
		return false
	case ops.BackgroundKeep:
		j.mu.Lock()
		j.kept = true
		j.mu.Unlock()
	case ops.BackgroundSession: // ended with the workspace
	}
	return true
}

func (v view) checkDir(dir string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.existing("chdir", dir, true)
	if err != nil {
		return err
	}
	if !at.node.isDir() {
		return pathError("chdir", dir, ops.ErrNotDir)
	}
	return nil
}

// runner returns an interpreter whose files are the tree's.
func (v view) runner(j *job, dir string, env map[string]string, out io.Writer) (*interp.Runner, error) {
	vars := map[string]string{"HOME": "/", "PATH": "/bin", "TMPDIR": "/tmp", "PWD": dir}
	maps.Copy(vars, env)
	var list []string
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	r, err := interp.New(
		interp.Env(expand.ListEnviron(list...)),
		interp.StdIO(nil, out, out),
		interp.OpenHandler(v.openFile),
		interp.StatHandler(v.statFile),
		interp.AccessHandler(v.accessFile),
		interp.ReadDirHandler2(v.listFiles),
		interp.CallHandler(j.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return v.program(j) }),
	)
	if err != nil {
		return nil, err
	}
	r.Dir = dir // the option of that name asks the machine's own file system
	return r, nil
}

func waitForAll() *syntax.File {
	file, err := syntax.NewParser().Parse(strings.NewReader("wait"), "")
	if err != nil {
		panic(fmt.Sprintf("opstest: %v", err)) // the text is constant
	}
	return file
}

func exitCode(err error) int {
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	return 1
}

func absolute(ctx context.Context, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(interp.HandlerCtx(ctx).Dir, p)
}

func (v view) statFile(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.walk(absolute(ctx, name), follow)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return at.node.info(path.Base(name)), nil
}

func (v view) accessFile(ctx context.Context, name string, _ interp.AccessMode) error {
	_, err := v.statFile(ctx, name, true)
	return err
}

func (v view) listFiles(ctx context.Context, name string) ([]fs.DirEntry, error) {
	unconfined := view{v.Memory, ""}
	entries, err := unconfined.entries(ctx, absolute(ctx, name))
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = e
	}
	return list, err
}

// jobs are the commands that have not wholly ended.
type jobs struct {
	mu   sync.Mutex
	live map[*job]bool
}

func (s *jobs) start() *job {
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{ctx: func() context.Context { return ctx }, cancel: cancel, running: map[int]string{}, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = map[*job]bool{}
	}
	s.live[j] = true
	return j
}

func (s *jobs) end(j *job) {
	s.mu.Lock()
	delete(s.live, j)
	s.mu.Unlock()
	j.cancel()
	close(j.ended)
}

func (s *jobs) list() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*job
	for j := range s.live {
		list = append(list, j)
	}
	return list
}

func (s *jobs) endAll() {
	for _, j := range s.list() {
		j.mu.Lock()
		kept := j.kept
		j.mu.Unlock()
		if kept {
			continue
		}
		j.cancel()
		<-j.ended
	}
}

// ProcessesWith counts the running programs that have arg among their arguments.
func (m *Memory) ProcessesWith(arg string) (int, error) {
	n := 0
	for _, j := range m.jobs.list() {
		j.mu.Lock()
		for _, line := range j.running {
			if strings.Contains(line+" ", " "+arg+" ") {
				n++
			}
		}
		j.mu.Unlock()
	}
	return n, nil
}

// job is one command with the programs that it runs.
type job struct {
	ctx    func() context.Context
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	next    int
	running map[int]string
	killed  string
	kept    bool // outlives the workspace
}

func (j *job) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.running)
}

func (j *job) signal() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.killed
}

// call lets a script end itself by a signal: kill -9 $$.
func (j *job) call(_ context.Context, args []string) ([]string, error) {
	if len(args) == 3 && args[0] == "kill" {
		signals := map[string]string{"-9": "KILL", "-KILL": "KILL", "-15": "TERM", "-TERM": "TERM"}
		codes := map[string]string{"KILL": "137", "TERM": "143"}
		if name := signals[args[1]]; name != "" {
			j.mu.Lock()
			j.killed = name
			j.mu.Unlock()
			return []string{"exit", codes[name]}, nil
		}
	}
	return args, nil
}
