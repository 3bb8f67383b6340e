//go:build unix

package local

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/local/internal/proctree"
)

// startProcess starts a program in a session of its own, in the launch's folder,
// with no input.
func (w *Workspace) startProcess(l *launch, path string, args []string, files []*os.File) (*os.Process, error) {
	dir := l.dirPath
	if w.facts.proc {
		// The very folder that was opened, whatever its path means by now. The
		// child has not closed the descriptor yet when it enters.
		dir = "/proc/self/fd/" + strconv.Itoa(int(l.dir.Fd()))
	}
	return os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{
		Dir: dir, Env: l.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// startDirect starts the command as a child of this process.
func (w *Workspace) startDirect(l *launch) (process, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	files := []*os.File{null, l.output, l.output}
	if l.script != nil {
		files = append(files, l.script)
	}
	p, err := w.startProcess(l, l.shell, l.args, files)
	if err != nil {
		return nil, err
	}
	d := &direct{process: p, done: make(chan struct{})}
	d.tree = proctree.Tree{Marker: l.marker(), Leader: p.Pid, Reaped: reapsAtOnce}
	d.tree.Since, _ = proctree.Start(p.Pid)
	go func() {
		defer close(d.done)
		d.wait()
	}()
	return d, nil
}

// direct is a command that is a child of this process. While its leader is not
// reaped, the numbers of its session and group can't go to anybody else.
type direct struct {
	process *os.Process
	tree    proctree.Tree
	done    chan struct{}
	state   *os.ProcessState
	err     error
}

func (d *direct) ended() <-chan struct{} { return d.done }

func (d *direct) left() bool {
	find := d.tree.Members
	if !d.tree.Reaped {
		find = d.tree.MembersAfterExit
	}
	members, err := find()
	return err == nil && len(members) > 0
}

func (d *direct) terminate(grace time.Duration) killReport {
	return reportOf(d.tree.Terminate(grace))
}

func (d *direct) finish(limit time.Duration) (status, error) {
	if !await(d.done, limit) {
		return status{code: 128 + int(syscall.SIGKILL), signal: "KILL"}, noStatus("the command can't be killed")
	}
	d.reap()
	d.tree.Reaped = true
	if d.err != nil {
		return status{code: -1}, noStatus(d.err.Error())
	}
	ws, ok := d.state.Sys().(syscall.WaitStatus)
	if !ok {
		return status{code: -1}, noStatus(d.state.String())
	}
	return statusOf(ws), nil
}

func (d *direct) release() {}

func statusOf(ws syscall.WaitStatus) status {
	if ws.Signaled() {
		return status{code: 128 + int(ws.Signal()), signal: signalName(ws.Signal())}
	}
	return status{code: ws.ExitStatus()}
}

// signalName is the name without SIG.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); len(name) > 3 {
		return name[3:]
	}
	return strconv.Itoa(int(s))
}

func reportOf(r proctree.Report) killReport {
	k := killReport{killed: r.Killed, survivors: r.Survivors, unverified: r.Unverified}
	if k.unverified == "" {
		k.unverified = unseen
	}
	return k
}
