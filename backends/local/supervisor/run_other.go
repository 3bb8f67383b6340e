//go:build !linux

package supervisor

import (
	"fmt"
	"io"
)

// Run says that there is no supervisor for this system, and fails.
func Run(_ []string, stderr io.Writer) int {
	_, _ = fmt.Fprintln(stderr, "supervisor: only Linux can give a tree's orphans to one process")
	return 2
}
