package fantasyllm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
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
		return nil, &llm.Error{Kind: llm.ErrInvalid, Err: err}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(p.options.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	parts, err := p.model.Stream(inner, c)
	if err != nil {
		return nil, p.failure(ctx, inner, err)
	}
	b := llm.NewBuilder(p.options.Provider, p.options.Model, time.Now().UnixMilli(), emit)
	var stop llm.StopReason
	for part := range parts {
		idle.Reset(p.options.IdleTimeout)
		if part.Type == fantasy.StreamPartTypeError {
			err = part.Error
			break
		}
		if part.Type == fantasy.StreamPartTypeFinish {
			stop = stopReason(part.FinishReason)
			b.Message().Usage = p.known.price(usage(part.Usage))
			continue
		}
		build(b, part)
	}
	m := b.Message()
	switch {
	case err != nil:
		return m, p.failure(ctx, inner, err)
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case inner.Err() != nil:
		return m, p.failure(ctx, inner, context.Cause(inner))
	case stop == "" || stop == llm.StopError:
		return m, &llm.Error{Kind: llm.ErrTruncated, Message: "the answer ended without saying why"}
	}
	// Calls decide, whatever the provider names as the reason; a cut answer is
	// always named (hazard PROV-01).
	if stop != llm.StopLength {
		stop = llm.StopEnd
		if len(m.ToolCalls()) > 0 {
			stop = llm.StopToolUse
		}
		for _, call := range m.ToolCalls() {
			if !json.Valid(call.Arguments) {
				return m, &llm.Error{Kind: llm.ErrTruncated, Message: "the arguments of a tool call are no JSON: " + call.Name}
			}
		}
	}
	m.StopReason = stop
	return m, nil
}

// build adds one part of a stream to the answer.
func build(b *llm.Builder, part fantasy.StreamPart) {
	switch part.Type {
	case fantasy.StreamPartTypeTextStart:
		b.Text(part.ID, "")
	case fantasy.StreamPartTypeTextDelta:
		b.Text(part.ID, part.Delta)
	case fantasy.StreamPartTypeTextEnd:
		b.TextEnd(part.ID)
	case fantasy.StreamPartTypeReasoningStart:
		b.Thinking(part.ID, "")
	case fantasy.StreamPartTypeReasoningDelta:
		b.Thinking(part.ID, part.Delta)
	case fantasy.StreamPartTypeReasoningEnd:
		signature, redacted := seal(part)
		b.ThinkingEnd(part.ID, signature, redacted)
	case fantasy.StreamPartTypeToolInputStart:
		b.ToolCallStart(part.ID, part.ID, part.ToolCallName)
	case fantasy.StreamPartTypeToolInputDelta:
		b.ToolCallDelta(part.ID, part.Delta)
	case fantasy.StreamPartTypeToolCall:
		b.ToolCallEnd(part.ID, part.ToolCallInput)
	case fantasy.StreamPartTypeToolInputEnd, fantasy.StreamPartTypeToolResult, fantasy.StreamPartTypeSource,
		fantasy.StreamPartTypeWarnings, fantasy.StreamPartTypeFinish, fantasy.StreamPartTypeError:
	}
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

func stopReason(r fantasy.FinishReason) llm.StopReason {
	switch r {
	case fantasy.FinishReasonLength:
		return llm.StopLength
	case fantasy.FinishReasonError, fantasy.FinishReasonUnknown:
		return llm.StopError
	default:
		return llm.StopEnd
	}
}

func usage(u fantasy.Usage) tool.Usage {
	return tool.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheCreationTokens}
}

// failure classifies what went wrong.
func (p *provider) failure(ctx, inner context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(context.Cause(inner), errIdle) {
		return &llm.Error{Kind: llm.ErrIdle, Message: "nothing came for " + p.options.IdleTimeout.String(), Err: err}
	}
	e := &llm.Error{Kind: llm.ErrNetwork, Message: err.Error(), Err: err}
	var pe *fantasy.ProviderError
	if !errors.As(err, &pe) {
		return e
	}
	e.Status = pe.StatusCode
	e.RetryAfter = retryAfter(pe.ResponseHeaders)
	switch {
	case pe.IsContextTooLarge():
		e.Kind = llm.ErrOverflow
	case pe.StatusCode == http.StatusUnauthorized, pe.StatusCode == http.StatusForbidden, pe.AuthError:
		e.Kind = llm.ErrAuth
	case pe.StatusCode == http.StatusTooManyRequests:
		e.Kind = llm.ErrRateLimit
	case pe.StatusCode == 529, pe.StatusCode == http.StatusServiceUnavailable, pe.TransientError:
		e.Kind = llm.ErrOverloaded
	case pe.StatusCode >= http.StatusInternalServerError:
		e.Kind = llm.ErrServer
	case pe.StatusCode >= http.StatusBadRequest:
		e.Kind = llm.ErrInvalid
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind = llm.ErrTruncated
	}
	return e
}

// retryAfter reads the header in seconds or as a date (RFC 9110, 10.2.3).
func retryAfter(headers map[string]string) time.Duration {
	for name, value := range headers {
		if !strings.EqualFold(name, "retry-after") {
			continue
		}
		if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
			return time.Duration(seconds) * time.Second
		}
		if at, err := http.ParseTime(value); err == nil {
			return max(0, time.Until(at))
		}
	}
	return 0
}
