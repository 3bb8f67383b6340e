// Command piremote-supervisor watches over one command of the local engine; see
// package supervisor.
package main

import (
	"os"

	"github.com/piremote/piremote/backends/local/supervisor"
)

func main() {
	os.Exit(supervisor.Run(os.Args[1:], os.Stderr)) //nolint:forbidigo // the program's own end
}
