package fantasyllm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"charm.land/fantasy"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// errIdle is the cause of an answer in which nothing happened for too long.
var errIdle = errors.New("nothing came for too long")

// Stream asks the model.
func (p *provider) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (m *llm.Assistant, err error) {
	c, err := p.call(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalid, Message: err.Error(), Err: err}
	}
	// Ending inner closes the response's body, which the library leaves open.
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(p.options.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	x := &exchange{options: p.options}
	model, err := p.model(inner, x)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalid, Message: p.clean(err.Error()), Err: err}
	}
	parts, err := model.Stream(inner, c)
	if err != nil {
		return nil, p.failure(ctx, inner, x, err)
	}
	telling := false
	a := newAnswer(p, x, func(e llm.StreamEvent) {
		telling = true
		emit(e)
		telling = false
	})
	defer func() {
		if telling {
			return // the listener panics; that is its own affair
		}
		// A library does at events of another shape than it expects.
		if r := recover(); r != nil {
			m = a.Message()
			err = &llm.Error{Kind: llm.ErrServer, Message: p.clean(fmt.Sprintf("the stream holds an event of an unknown shape (%v)", r))}
		}
	}()
	for part := range parts {
		// What the listener takes is not the provider's silence.
		idle.Stop()
		if part.Type == fantasy.StreamPartTypeError {
			err = part.Error
			break
		}
		if inner.Err() != nil {
			break // the library closes what is open
		}
		a.add(part)
		x.beats.Store(false)
		idle.Reset(p.options.IdleTimeout)
	}
	m = a.Message()
	if err != nil || inner.Err() != nil || x.err != nil || x.said != (saying{}) {
		return m, p.failure(ctx, inner, x, err)
	}
	m.StopReason, err = a.stopReason()
	return m, err
}

// answer builds a message from the parts of a stream.
type answer struct {
	*llm.Builder
	provider *provider
	exchange *exchange
	finish   fantasy.FinishReason // empty until the last part
	open     map[string][]string  // keys of blocks by the library's id, oldest first
	streamed map[string]bool      // keys of calls whose arguments came in pieces
	seals    map[string]seal      // of thinking that has not ended, by the library's id
	count    int
}

func newAnswer(p *provider, x *exchange, emit func(llm.StreamEvent)) *answer {
	return &answer{
		Builder:  llm.NewBuilder(p.options.Provider, p.options.Model, time.Now().UnixMilli(), emit),
		provider: p, exchange: x, open: map[string][]string{}, streamed: map[string]bool{}, seals: map[string]seal{},
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
	case fantasy.StreamPartTypeTextDelta:
		a.Text(part.ID, part.Delta)
	case fantasy.StreamPartTypeTextEnd:
		a.TextEnd(part.ID)
	case fantasy.StreamPartTypeReasoningStart, fantasy.StreamPartTypeReasoningDelta:
		a.sealed(part)
		a.Thinking(part.ID, part.Delta)
	case fantasy.StreamPartTypeReasoningEnd:
		a.sealed(part)
		a.endThinking(part.ID)
	case fantasy.StreamPartTypeToolInputStart:
		a.ToolCallStart(a.begin(part.ID), part.ID, part.ToolCallName)
	case fantasy.StreamPartTypeToolInputDelta:
		// One wire's adapter names the piece one way, the other another.
		key, piece := a.latest(part.ID), part.Delta+part.ToolCallInput
		if a.provider.options.Type == Google && piece == "null" {
			piece = "{}" // a call without arguments
		}
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
		a.Message().Usage = a.usage(part.Usage)
		for id := range a.seals {
			a.endThinking(id) // of a model that doesn't say where thinking ends
		}
	case fantasy.StreamPartTypeTextStart, fantasy.StreamPartTypeToolInputEnd, fantasy.StreamPartTypeToolResult, fantasy.StreamPartTypeSource,
		fantasy.StreamPartTypeWarnings, fantasy.StreamPartTypeError:
	}
}

// sealed notes the seal of thinking, which may come with any of its parts.
func (a *answer) sealed(part fantasy.StreamPart) {
	if s := sealOf(part.ProviderMetadata, a.provider.options.Type); s != (seal{}) {
		a.seals[part.ID] = s
	} else if _, ok := a.seals[part.ID]; !ok {
		a.seals[part.ID] = seal{}
	}
}

func (a *answer) endThinking(id string) {
	a.ThinkingEnd(id, a.seals[id].signature, a.seals[id].redacted)
	delete(a.seals, id)
}

// stopReason is why a whole answer ended. Calls decide between stop and toolUse,
// whatever the provider says; an answer that was cut is always named so, and
// its calls don't run (hazard PROV-01).
func (a *answer) stopReason() (llm.StopReason, error) {
	raw, finish := a.exchange.finish, a.finish
	if a.provider.options.Type != Anthropic && finish != "" {
		// The library takes whole calls for the end of an answer that broke off.
		if finish = finishReason(raw); raw == "" {
			finish = ""
		}
	}
	calls := a.Message().ToolCalls()
	unfinished := a.Open()
	switch finish {
	case "":
		return "", &llm.Error{Kind: llm.ErrTruncated, Message: "the stream ended before the answer did"}
	case fantasy.FinishReasonLength:
		return llm.StopLength, nil
	case fantasy.FinishReasonContentFilter:
		return "", &llm.Error{Kind: llm.ErrRefused, Message: "the provider's filter stopped the answer" + inBrackets(raw)}
	case fantasy.FinishReasonError:
		return "", &llm.Error{Kind: llm.ErrServer, Message: "the provider broke the answer off" + inBrackets(raw)}
	case fantasy.FinishReasonUnknown, fantasy.FinishReasonOther:
		switch {
		case raw == "model_context_window_exceeded":
			return "", &llm.Error{Kind: llm.ErrOverflow, Message: "the conversation fills the model's context" + inBrackets(raw)}
		case len(calls) > 0:
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

func inBrackets(raw string) string {
	if raw == "" {
		return ""
	}
	return " (" + raw + ")"
}

// usage is what the answer took and costs. What the provider asks for counts
// where the catalogue has no price.
func (a *answer) usage(u fantasy.Usage) tool.Usage {
	counted := tool.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheCreationTokens}
	if a.exchange.usage != nil {
		counted = *a.exchange.usage
	}
	if a.provider.known.ID == "" {
		return counted
	}
	return a.provider.known.price(counted)
}
