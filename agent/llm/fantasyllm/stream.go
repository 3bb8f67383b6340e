package fantasyllm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// errIdle is the cause of an answer in which nothing happened for too long.
var errIdle = errors.New("nothing came for too long")

// Stream asks the model.
func (p *provider) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	c, err := p.call(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalid, Message: err.Error(), Err: err}
	}
	// Ending inner closes the response's body, which the library leaves open.
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(p.options.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	var end ending
	model, err := p.model(inner, &end)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalid, Message: err.Error(), Err: err}
	}
	parts, err := model.Stream(inner, c)
	if err != nil {
		return nil, p.failure(ctx, inner, err)
	}
	a := newAnswer(p, emit)
	for part := range parts {
		// What the listener takes is not the provider's silence.
		idle.Stop()
		if part.Type == fantasy.StreamPartTypeError {
			err = part.Error
			break
		}
		a.add(part)
		idle.Reset(p.options.IdleTimeout)
	}
	m := a.Message()
	switch {
	case err != nil || inner.Err() != nil:
		return m, p.failure(ctx, inner, err)
	case a.finish == "", p.options.Type != Anthropic && end.raw == "":
		// The library takes whole calls for the end of an answer that broke off.
		return m, &llm.Error{Kind: llm.ErrTruncated, Message: "the stream ended before the answer did"}
	}
	m.StopReason, err = a.stopReason(end.raw)
	return m, err
}

// answer builds a message from the parts of a stream.
type answer struct {
	*llm.Builder
	provider *provider
	finish   fantasy.FinishReason // empty until the last part
	open     map[string][]string  // keys of blocks by the library's id, oldest first
	streamed map[string]bool      // keys of calls whose arguments came in pieces
	count    int
}

func newAnswer(p *provider, emit func(llm.StreamEvent)) *answer {
	return &answer{
		Builder:  llm.NewBuilder(p.options.Provider, p.options.Model, time.Now().UnixMilli(), emit),
		provider: p, open: map[string][]string{}, streamed: map[string]bool{},
	}
}

// begin makes a key for a call: an id may come twice in one answer (hazard
// PROV-03).
func (a *answer) begin(id string) string {
	a.count++
	key := fmt.Sprintf("%s %d", id, a.count)
	a.open[id] = append(a.open[id], key)
	return key
}

// latest is the call of that id that began last.
func (a *answer) latest(id string) string {
	if keys := a.open[id]; len(keys) > 0 {
		return keys[len(keys)-1]
	}
	return ""
}

// end is the call of that id that began first and has not ended.
func (a *answer) end(id string) string {
	keys := a.open[id]
	if len(keys) == 0 {
		return ""
	}
	a.open[id] = keys[1:]
	return keys[0]
}

// add adds one part.
func (a *answer) add(part fantasy.StreamPart) {
	switch part.Type {
	case fantasy.StreamPartTypeTextStart:
		a.Text(part.ID, "")
	case fantasy.StreamPartTypeTextDelta:
		a.Text(part.ID, part.Delta)
	case fantasy.StreamPartTypeTextEnd:
		a.TextEnd(part.ID)
	case fantasy.StreamPartTypeReasoningStart, fantasy.StreamPartTypeReasoningDelta:
		a.Thinking(part.ID, part.Delta)
	case fantasy.StreamPartTypeReasoningEnd:
		signature, redacted := seal(part)
		a.ThinkingEnd(part.ID, signature, redacted)
	case fantasy.StreamPartTypeToolInputStart:
		a.ToolCallStart(a.begin(part.ID), part.ID, part.ToolCallName)
	case fantasy.StreamPartTypeToolInputDelta:
		// One wire's adapter names the piece one way, the other another.
		key, piece := a.latest(part.ID), part.Delta+part.ToolCallInput
		a.streamed[key] = a.streamed[key] || piece != ""
		a.ToolCallDelta(key, piece)
	case fantasy.StreamPartTypeToolCall:
		// The library puts {} for arguments that are no JSON; the pieces are what
		// the model said (hazard PROV-01).
		key, whole := a.end(part.ID), part.ToolCallInput
		if a.streamed[key] {
			whole = ""
		}
		a.ToolCallEnd(key, whole)
	case fantasy.StreamPartTypeFinish:
		a.finish = part.FinishReason
		a.Message().Usage = a.provider.known.price(usage(part.Usage))
	case fantasy.StreamPartTypeToolInputEnd, fantasy.StreamPartTypeToolResult, fantasy.StreamPartTypeSource,
		fantasy.StreamPartTypeWarnings, fantasy.StreamPartTypeError:
	}
}

// stopReason is why a whole answer ended. Calls decide between stop and toolUse,
// whatever the provider says; an answer that was cut is always named so, and
// its calls don't run (hazard PROV-01).
func (a *answer) stopReason(raw string) (llm.StopReason, error) {
	calls := a.Message().ToolCalls()
	unfinished := a.Open()
	switch a.finish {
	case fantasy.FinishReasonLength:
		return llm.StopLength, nil
	case fantasy.FinishReasonContentFilter:
		return "", &llm.Error{Kind: llm.ErrRefused, Message: "the provider's filter stopped the answer"}
	case fantasy.FinishReasonError:
		return "", &llm.Error{Kind: llm.ErrServer, Message: "the provider broke the answer off: " + raw}
	case fantasy.FinishReasonUnknown, fantasy.FinishReasonOther:
		if len(calls) > 0 {
			return "", &llm.Error{Kind: llm.ErrTruncated, Message: fmt.Sprintf("the answer ended with the unknown reason %q", raw)}
		}
	case fantasy.FinishReasonStop, fantasy.FinishReasonToolCalls:
	}
	switch {
	case unfinished:
		return "", &llm.Error{Kind: llm.ErrTruncated, Message: "a part of the answer did not end"}
	case len(calls) > 0:
		return llm.StopToolUse, nil
	}
	return llm.StopEnd, nil
}

// seal returns the signature of reasoning, or the data that stands for it.
func seal(part fantasy.StreamPart) (signature string, redacted bool) {
	meta, ok := part.ProviderMetadata[anthropic.Name].(*anthropic.ReasoningOptionMetadata)
	if !ok || meta == nil {
		return "", false
	}
	if meta.RedactedData != "" {
		return meta.RedactedData, true
	}
	return meta.Signature, false
}

func usage(u fantasy.Usage) tool.Usage {
	return tool.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheCreationTokens}
}
