package cli

import (
	"fmt"
	"strings"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// systemPrompt tells the model where it works and with what.
func systemPrompt(target ops.Target, list []tool.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are a coding agent. Your tools act in one workspace and nowhere else: %s.\n", target.Label)
	fmt.Fprintf(&b, "The working folder is %s", target.Dir)
	if target.OS != "" {
		fmt.Fprintf(&b, " on a %s system", target.OS)
	}
	b.WriteString(". Relative paths start there.\n")
	if target.Root != "" {
		fmt.Fprintf(&b, "File tools reach nothing outside %s.\n", target.Root)
	}
	var snippets, guidelines []string
	for _, t := range list {
		p, ok := t.(tool.Prompter)
		if !ok {
			continue
		}
		prompt := p.Prompt()
		snippets = append(snippets, fmt.Sprintf("- %s: %s", t.Info().Name, prompt.Snippet))
		guidelines = append(guidelines, prompt.Guidelines...)
	}
	if len(snippets) > 0 {
		fmt.Fprintf(&b, "\nTools:\n%s\n\nGuidelines:\n- %s\n", strings.Join(snippets, "\n"), strings.Join(guidelines, "\n- "))
	}
	b.WriteString("\nSay what you found and did in few words. Report failures as they are.\n")
	return b.String()
}
