package tools

import (
	"fmt"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

func newBash(w workspace, o Options) (tool.Tool, error) {
	return newShell(w, w.set.Bash, o.Bash, dialect{
		name:  "bash",
		label: "Run command",
		kind:  ops.ShellPOSIX,
		description: fmt.Sprintf("Run a shell command in the workspace folder. stdout and stderr are shown together, "+
			"the last %d lines or %s; the full output is kept in a file when anything is cut.",
			textout.DefaultMaxLines, textout.FormatSize(textout.DefaultMaxBytes)),
		prompt: tool.Prompt{
			Snippet:    "Run a shell command",
			Guidelines: []string{"Use bash for builds, tests and commands that no other tool covers."},
		},
	})
}
