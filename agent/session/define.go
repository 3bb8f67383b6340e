package session

import (
	"context"

	"github.com/piremote/piremote/tools/tool"
)

// Definition is a tool that knows the session in which it runs. It becomes a
// plain tool.Tool when a session takes it.
type Definition struct {
	Info tool.Info
	// PromptSnippet and PromptGuidelines are its part of the system prompt.
	PromptSnippet    string
	PromptGuidelines []string
	// Execute runs a call, under the contract of tool.Tool. The session is that of
	// the call; Execute must not wait for it to become idle.
	Execute func(ctx context.Context, call tool.Call, update tool.Update, s *Session) (tool.Result, error)
}

// tool is the definition as the loop sees it.
func (d Definition) tool(s *Session) tool.Tool { return defined{d, s} }

type defined struct {
	Definition
	session *Session
}

func (d defined) Info() tool.Info { return d.Definition.Info }

func (d defined) Prompt() tool.Prompt {
	return tool.Prompt{Snippet: d.PromptSnippet, Guidelines: d.PromptGuidelines}
}

func (d defined) Execute(ctx context.Context, call tool.Call, update tool.Update) (tool.Result, error) {
	return d.Definition.Execute(ctx, call, update, d.session)
}
