package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// scriptFile puts a script into a file without a name.
func (w *Workspace) scriptFile(script string) (*os.File, error) {
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	if err != nil {
		return w.tempScript(script)
	}
	f := os.NewFile(uintptr(fd), "script")
	if _, err := f.WriteString(script); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
