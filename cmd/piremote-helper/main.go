// Command piremote-helper is the local engine on a target; package helper says how
// it is started. Nobody types its name.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/local/supervisor"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // the program's own end
}

// usageStatus is the exit status for words that mean nothing.
const usageStatus = 2

func run(args []string, stdout, stderr io.Writer) int {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	switch word {
	case helper.Supervise:
		return supervisor.Run(args[1:], stderr)
	case helper.Serve, helper.Reside:
		return serve(word, stderr)
	case helper.Sessions, helper.Collect:
		return sessions(word, stdout, stderr)
	case helper.Guard:
		return guard(args[1:], stderr)
	case helper.Version:
		_, _ = fmt.Fprintln(stdout, helper.VersionLine(runtime.GOOS, runtime.GOARCH)) // nobody may be listening
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "%s: %q is none of %s, %s: piremote starts this program, people don't\n", helper.Name, word, helper.Supervise, helper.Version)
	return usageStatus
}
