package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// summarySystem is what the model is told that writes a summary.
const summarySystem = "You write notes that let a coding agent go on with a conversation that it can no longer see. " +
	"You do not answer the conversation and you call no tools."

// summaryTask is asked behind the conversation.
const summaryTask = `Write the notes for the conversation above, in these parts:
## Goal
what the user wants, with every constraint that was given
## Done
what was done and decided, and why, with the paths of files
## State
what holds now: open errors, results of commands that matter
## Next
what is to be done next, in order
Keep names, paths, commands and error texts exactly as they are. Leave out what no longer matters.`

// summarize asks the model for a summary, and again after failures that may pass.
func (s *Session) summarize(ctx context.Context, reason CompactionReason, messages []llm.Message, instructions string) (*llm.Assistant, error) {
	task := summaryTask
	if instructions != "" {
		task += "\n\nThe user asks for this in particular: " + instructions
	}
	s.mu.Lock()
	model := s.model
	s.mu.Unlock()
	request := llm.Request{
		System:   summarySystem,
		Messages: []llm.Message{llm.UserText("<conversation>\n"+transcript(messages)+"</conversation>\n\n"+task, s.options.Now().UnixMilli())},
	}
	retry := s.retry()
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			s.emit(SummarizationRetryAttemptStart{reason})
		}
		answer, err := askOnce(ctx, model.Provider, request)
		var failure *llm.Error
		again := err != nil && ctx.Err() == nil && errors.As(err, &failure) && failure.Retryable() && attempt < retry.Attempts
		if !again {
			if attempt > 0 {
				s.emit(SummarizationRetryFinished{})
			}
			return answer, err
		}
		delay := max(min(retry.Delay<<min(attempt, 16), retry.MaxDelay), min(failure.RetryAfter, retry.MaxDelay))
		s.emit(SummarizationRetryScheduled{attempt + 1, retry.Attempts, delay.Round(time.Millisecond), err.Error()})
		if !wait(ctx, delay) {
			s.emit(SummarizationRetryFinished{})
			return nil, context.Cause(ctx)
		}
	}
}

func askOnce(ctx context.Context, p llm.Provider, request llm.Request) (answer *llm.Assistant, err error) {
	err = contain("the provider", func() (err error) {
		answer, err = p.Stream(ctx, request, func(llm.StreamEvent) {})
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case answer == nil || strings.TrimSpace(answer.Text()) == "":
		return nil, errors.New("the model wrote no summary")
	case answer.StopReason == llm.StopLength:
		return nil, errors.New("the summary was cut at the output limit")
	}
	return answer, nil
}

// resultExcerpt bounds what a summary is shown of a tool's result, in bytes.
const resultExcerpt = 2000

// transcript writes a conversation as plain text.
func transcript(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		switch m := m.(type) {
		case *llm.User:
			fmt.Fprintf(&b, "[User]: %s\n\n", tool.TextOf(m.Content))
		case *llm.Assistant:
			if text := m.Text(); text != "" {
				fmt.Fprintf(&b, "[Assistant]: %s\n\n", text)
			}
			for _, c := range m.ToolCalls() {
				fmt.Fprintf(&b, "[Assistant calls %s]: %s\n\n", c.Name, c.Arguments)
			}
		case *llm.ToolResult:
			fmt.Fprintf(&b, "[Result of %s]: %s\n\n", m.ToolName, textout.TruncateRunes(tool.TextOf(m.Content), resultExcerpt))
		}
	}
	return b.String()
}

// imageTokens is about what an image costs.
const imageTokens = 1200

// estimate is about how many tokens messages take.
func estimate(messages []llm.Message) int64 {
	tokens := int64(0)
	for _, m := range messages {
		switch m := m.(type) {
		case *llm.User:
			tokens += contentTokens(m.Content)
		case *llm.Assistant:
			if text, err := json.Marshal(m); err == nil {
				tokens += int64(len(text)) / 4
			}
		case *llm.ToolResult:
			tokens += contentTokens(m.Content)
		}
	}
	return tokens
}

func contentTokens(content []tool.Content) int64 {
	tokens := int64(0)
	for _, c := range content {
		switch c := c.(type) {
		case tool.Text:
			tokens += int64(len(c.Text)+3) / 4
		case tool.Image:
			tokens += imageTokens
		}
	}
	return tokens
}

// contextTokens is about how many tokens the context takes: what the provider
// counted for the last answer since the last compaction, and an estimate of what
// came behind it.
func contextTokens(log *store.Log) int64 {
	c, err := log.Context(log.Leaf())
	if err != nil {
		return 0
	}
	compacted := -1 // what answers before this were counted with is gone
	position := map[string]int{}
	for i, e := range log.Branch(log.Leaf()) {
		position[e.Meta().ID] = i
		if _, ok := e.(store.Compaction); ok {
			compacted = i
		}
	}
	var behind []llm.Message
	for _, item := range slices.Backward(c.Items) {
		a, ok := item.Record.(*llm.Assistant)
		if ok && a.StopReason != llm.StopError && a.StopReason != llm.StopAborted && position[item.Entry.Meta().ID] > compacted {
			if u := a.Usage; u.Input+u.Output+u.CacheRead+u.CacheWrite > 0 {
				return u.Input + u.Output + u.CacheRead + u.CacheWrite + estimate(behind)
			}
		}
		if m := llm.ToModel(item.Record); m != nil {
			behind = append(behind, m)
		}
	}
	return estimate(behind)
}
