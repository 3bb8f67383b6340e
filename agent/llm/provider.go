package llm

import (
	"context"
	"fmt"
	"time"

	"github.com/piremote/piremote/tools/tool"
)

// Provider answers requests with a streamed message.
type Provider interface {
	// Stream sends req and calls emit for each event of the answer, in order and
	// from the calling goroutine, starting with StreamStart. It returns the whole
	// answer with a stop reason.
	//
	// A failure is an error, an *Error where the provider or the way to it is at
	// fault, and ctx's error after cancellation; the message beside it, if there
	// is one, holds what had come. A stream that ends without saying why is an
	// error of ErrTruncated, never a complete answer (hazard PROV-04). Stream
	// returns within a second of ctx's end. It may be called concurrently.
	Stream(ctx context.Context, req Request, emit func(StreamEvent)) (*Assistant, error)
}

// Request is one call of a model.
type Request struct {
	System    string
	Messages  []Message
	Tools     []tool.Declaration
	Thinking  string // the thinking level; empty means the provider's default
	SessionID string
}

// StreamKind is the kind of a stream event.
type StreamKind string

// The kinds of stream events. Start opens an answer; the others come from and
// to one block of it.
const (
	StreamStart         StreamKind = "start"
	StreamTextStart     StreamKind = "text_start"
	StreamTextDelta     StreamKind = "text_delta"
	StreamTextEnd       StreamKind = "text_end"
	StreamThinkingStart StreamKind = "thinking_start"
	StreamThinkingDelta StreamKind = "thinking_delta"
	StreamThinkingEnd   StreamKind = "thinking_end"
	StreamToolCallStart StreamKind = "toolcall_start"
	StreamToolCallDelta StreamKind = "toolcall_delta"
	StreamToolCallEnd   StreamKind = "toolcall_end"
)

// StreamEvent is one step of a streamed answer.
type StreamEvent struct {
	Kind         StreamKind
	ContentIndex int        // of the block
	Delta        string     // for deltas
	Content      string     // for the ends of text and thinking: the whole block
	ToolCall     *ToolCall  // for toolcall_end
	Partial      *Assistant // what has come so far; a copy whose blocks are shared and still grow
}

// ErrorKind classifies what went wrong with a provider.
type ErrorKind string

// The kinds of provider errors.
const (
	ErrAuth       ErrorKind = "auth"
	ErrRateLimit  ErrorKind = "rate limit"
	ErrOverloaded ErrorKind = "overloaded"
	ErrOverflow   ErrorKind = "context overflow"
	ErrInvalid    ErrorKind = "invalid request"
	ErrNetwork    ErrorKind = "network"
	ErrTruncated  ErrorKind = "truncated stream"
	ErrIdle       ErrorKind = "idle stream"
	ErrServer     ErrorKind = "server error"
	ErrRefused    ErrorKind = "refused" // the provider will not give this answer
)

// Error is a failure of a provider or of the way to it.
type Error struct {
	Kind       ErrorKind
	Status     int           // HTTP, 0 if there was none
	RetryAfter time.Duration // as the provider asked; 0 if it did not
	Message    string
	Err        error
}

func (e *Error) Error() string {
	text := string(e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	switch {
	case e.Message != "":
		text += ": " + e.Message
	case e.Err != nil:
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrRateLimit, ErrOverloaded, ErrNetwork, ErrTruncated, ErrIdle, ErrServer:
		return true
	case ErrAuth, ErrOverflow, ErrInvalid, ErrRefused:
	}
	return false
}
