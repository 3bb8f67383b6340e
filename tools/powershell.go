package tools

import (
	"fmt"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

func newPowerShell(w workspace, o Options) (tool.Tool, error) {
	// Of ShellOptions, a prefix and a path are bash's alone.
	o.PowerShell.CommandPrefix, o.PowerShell.ShellPath = "", ""
	return newShell(w, w.set.PowerShell, o.PowerShell, dialect{
		name:  "powershell",
		label: "Run PowerShell",
		kind:  ops.ShellPowerShell,
		description: fmt.Sprintf("Run a PowerShell command in the workspace folder (pwsh, else Windows PowerShell). "+
			"Output is shown from its end, %d lines or %s; the full output is kept in a file when anything is cut.",
			textout.DefaultMaxLines, textout.FormatSize(textout.DefaultMaxBytes)),
		prompt: tool.Prompt{
			Snippet:    "Run a PowerShell command",
			Guidelines: []string{"Use powershell for native Windows commands; its syntax is not that of bash."},
		},
	})
}
