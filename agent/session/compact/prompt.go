package compact

import (
	"fmt"
	"strings"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// System is the system prompt of every request for a summary.
const System = "You write notes from which a coding agent goes on with work that it can no longer see. " +
	"You answer nothing in the conversation, you go on with nothing, you call no tool. You write the notes and nothing else."

// form is what notes look like.
const form = `Use these headings, each of them, and write "none" below one that has nothing:

## Goal
What the user wants to have in the end.
## Conditions
What they asked to respect or prefer.
## Done
What was done, and what was decided and why.
## Under way
What was begun, and what stands in its way.
## Next
What is to be done, in order.
## To know
Facts that the work needs: results, errors, values.

Be brief. Paths, names, commands and the words of errors stay exactly as they are.`

const (
	historyTask = "Write notes of the conversation above.\n\n" + form
	updateTask  = "The conversation above goes on from the notes in <notes>. Write these notes anew, so that they hold both: " +
		"keep what still matters, add what is new, move what is finished to Done, and leave out what is settled.\n\n" + form
	prefixTask = `The conversation above is the beginning of a task. What follows it is kept elsewhere, word for word. Write notes of this beginning alone, and guess nothing of what follows:

## Request
What the user asked for.
## So far
What was done and decided.
## To know
What of this beginning is needed to understand what follows.

Be brief. Paths, names, commands and the words of errors stay exactly as they are.`
	branchTask = "The conversation above is a branch that was left: the work goes on from a point before it. " +
		"Write notes of the branch, so that what was learned there is not lost.\n\n" + form
)

// HistoryPrompt is what the model is asked for the summary of History and Previous;
// empty if there is neither. instructions of the user may be empty.
func (p Plan) HistoryPrompt(instructions string) string {
	switch {
	case len(p.History) == 0:
		return ""
	case p.Previous != "":
		return prompt(p.History, "<notes>\n"+p.Previous+"\n</notes>\n\n"+updateTask, instructions)
	}
	return prompt(p.History, historyTask, instructions)
}

// PrefixPrompt is what it is asked for the summary of Prefix; empty if there is
// none.
func (p Plan) PrefixPrompt(instructions string) string {
	if len(p.Prefix) == 0 {
		return ""
	}
	return prompt(p.Prefix, prefixTask, instructions)
}

// Summary puts the answers to the prompts together; that to an empty prompt is not
// looked at. The lists of files come last.
func (p Plan) Summary(history, prefix string) string {
	if len(p.History) == 0 {
		history = p.Previous
	}
	parts := []string{}
	if history != "" {
		parts = append(parts, strings.TrimSpace(history))
	}
	if len(p.Prefix) > 0 {
		parts = append(parts, "The beginning of the task that follows:\n\n"+strings.TrimSpace(prefix))
	}
	return strings.Join(parts, "\n\n---\n\n") + p.Files.String()
}

func prompt(records []llm.Record, task, instructions string) string {
	if instructions != "" {
		task += "\n\nThe user wants these notes to look at this above all: " + instructions
	}
	return "<conversation>\n" + Transcript(records) + "</conversation>\n\n" + task
}

// resultRunes bounds what a transcript shows of a result.
const resultRunes = 2000

// Transcript is a conversation as text, so that a model does not take it for its
// own. Thinking is left out, results are cut, images are named.
func Transcript(records []llm.Record) string {
	var b strings.Builder
	for _, r := range records {
		switch m := llm.ToModel(r).(type) {
		case nil:
		case *llm.User:
			fmt.Fprintf(&b, "[User]\n%s\n\n", textOf(m.Content))
		case *llm.Assistant:
			if text := m.Text(); text != "" {
				fmt.Fprintf(&b, "[Agent]\n%s\n\n", text)
			}
			for _, c := range m.ToolCalls() {
				fmt.Fprintf(&b, "[Agent calls %s]\n%s\n\n", c.Name, c.Arguments)
			}
		case *llm.ToolResult:
			how := "Result"
			if m.IsError {
				how = "Failure"
			}
			fmt.Fprintf(&b, "[%s of %s]\n%s\n\n", how, m.ToolName, textout.TruncateRunes(textOf(m.Content), resultRunes))
		}
	}
	return b.String()
}

func textOf(content []tool.Content) string {
	var parts []string
	for _, c := range content {
		switch c := c.(type) {
		case tool.Text:
			parts = append(parts, c.Text)
		case tool.Image:
			parts = append(parts, "("+c.MIMEType+" image)")
		}
	}
	return strings.Join(parts, "\n")
}
