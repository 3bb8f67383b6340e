// Command piremote is a coding agent whose mind stays home and whose hands are
// anywhere: the model and the conversation run here, the effects happen in a
// workspace on this machine, on an SSH host or in a container.
package main

import (
	"os"

	"github.com/piremote/piremote/cmd/piremote/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ(),
	}))
}
