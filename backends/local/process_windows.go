package local

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// blindSpot is what can't be seen on this system.
const blindSpot = "A process that a service starts for a command is not in the command's job and is not ended with it."

func supervised(Options) bool { return false }

// start starts the command suspended, puts it into a job of its own, and lets it
// run: everything that it starts is in the job too (hazard WIN-01).
func (w *Workspace) start(_ context.Context, l *launch) (process, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	p, err := os.StartProcess(l.shell, append([]string{l.shell}, l.args...), &os.ProcAttr{
		Dir: l.dirPath, Env: l.env, Files: []*os.File{null, l.output, l.output},
		Sys: &syscall.SysProcAttr{
			HideWindow:    true,
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
		},
	})
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	c := &jobProcess{process: p, job: job, done: make(chan struct{})}
	if err = c.admit(); err == nil {
		err = resume(p.Pid)
	}
	if err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("put the command into a job: %w", err)
	}
	go func() {
		defer close(c.done)
		c.state, c.err = p.Wait()
	}()
	return c, nil
}

// jobProcess is a command in a job object.
type jobProcess struct {
	process *os.Process
	job     windows.Handle
	done    chan struct{}
	state   *os.ProcessState
	err     error
}

func (c *jobProcess) admit() error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(c.process.Pid)) //nolint:gosec // a process id fits
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return windows.AssignProcessToJobObject(c.job, h)
}

// resume lets the threads of a suspended process run; a new one has one.
func resume(pid int) error {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(snap) }()
	entry := windows.ThreadEntry32{}
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Thread32First(snap, &entry); err == nil; err = windows.Thread32Next(snap, &entry) {
		if entry.OwnerProcessID != uint32(pid) { //nolint:gosec // a process id fits
			continue
		}
		h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(h)
		_ = windows.CloseHandle(h)
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *jobProcess) ended() <-chan struct{} { return c.done }

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	totalUser, totalKernel, periodUser, periodKernel int64
	faults, total, active, terminated                uint32
}

func (c *jobProcess) active() (int, error) {
	const basicAccounting = 1
	var a accounting
	err := windows.QueryInformationJobObject(c.job, basicAccounting, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return int(a.active), err
}

func (c *jobProcess) left() bool {
	n, err := c.active()
	return err == nil && n > 0
}

// terminate ends the job at once: there is no signal that asks a Windows process
// to end.
func (c *jobProcess) terminate(time.Duration) killReport {
	before, err := c.active()
	if err != nil {
		return killReport{unverified: err.Error()}
	}
	r := killReport{}
	if err := windows.TerminateJobObject(c.job, 1); err != nil {
		r.unverified = err.Error()
	}
	deadline := time.NewTimer(lateStatus)
	defer deadline.Stop()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for {
		n, err := c.active()
		if err != nil || n == 0 {
			r.killed = before
			return r
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			r.killed = before - n
			r.survivors = []string{fmt.Sprintf("%d processes of the job", n)}
			return r
		}
	}
}

func (c *jobProcess) finish(limit time.Duration) (status, error) {
	if !await(c.done, limit) {
		return status{code: -1}, noStatus("the command can't be ended")
	}
	if c.err != nil {
		return status{code: -1}, noStatus(c.err.Error())
	}
	return status{code: c.state.ExitCode()}, nil
}

// release closes the job; what is still in it runs on.
func (c *jobProcess) release() { _ = windows.CloseHandle(c.job) }
