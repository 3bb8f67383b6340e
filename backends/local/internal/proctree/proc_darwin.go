package proctree

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB

// Start returns when a process began.
func Start(pid int) (uint64, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	return started(k), nil
}

func started(k *unix.KinfoProc) uint64 {
	return uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec) //nolint:gosec // never negative
}

func list() ([]Process, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	all := make([]Process, 0, len(table))
	for i := range table {
		k := &table[i]
		name := k.Proc.P_comm[:]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		p := Process{
			PID: int(k.Proc.P_pid), Parent: int(k.Eproc.Ppid), Group: int(k.Eproc.Pgid),
			Start: started(k), Name: string(name), Dead: k.Proc.P_stat == zombie,
		}
		if p.Session, err = unix.Getsid(p.PID); err != nil {
			p.Session = -p.PID // unknown: nobody's
		}
		all = append(all, p)
	}
	return all, nil
}

func youngerThan(int) ([]Process, bool) { return nil, false }

// carries reports whether a process was started with the marker in its
// environment. The system shows that of the same user's processes, save its own
// protected programs.
func carries(pid int, marker string) bool {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && bytes.Contains(args, []byte("\x00"+marker+"\x00"))
}

func send(p Process, sig syscall.Signal) {
	if p.PID <= 1 {
		return
	}
	if start, err := Start(p.PID); err == nil && start == p.Start {
		_ = unix.Kill(p.PID, sig)
	}
}

// mentions reports true: on this system every kill is reported as unverified
// anyway.
func mentions(int, string) bool { return true }
