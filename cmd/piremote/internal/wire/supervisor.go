package wire

import (
	"os"
	"path/filepath"
)

// supervisorBeside returns the path of the supervisor that was built with the
// program and lies beside it, or nothing. Nowhere else is looked: what watches over
// commands is never found by way of a search path.
func supervisorBeside(program string) string {
	if program == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	p := filepath.Join(filepath.Dir(program), "piremote-supervisor")
	info, err := os.Stat(p)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	return p
}
