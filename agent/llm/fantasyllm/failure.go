package fantasyllm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"charm.land/fantasy"

	"github.com/piremote/piremote/agent/llm"
)

// statusOverloaded is Anthropic's own status.
const statusOverloaded = 529

// failure classifies what went wrong. err may be nil if inner has ended.
func (p *provider) failure(ctx, inner context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(context.Cause(inner), errIdle) {
		return &llm.Error{Kind: llm.ErrIdle, Message: "nothing came for " + p.options.IdleTimeout.String(), Err: err}
	}
	if err == nil {
		err = context.Cause(inner)
	}
	if errors.Is(err, bufio.ErrTooLong) {
		return &llm.Error{Kind: llm.ErrInvalid, Message: "one event of the stream is larger than 32 MB", Err: err}
	}
	e := &llm.Error{Kind: llm.ErrNetwork, Message: err.Error(), Err: err}
	var pe *fantasy.ProviderError
	var fe *fantasy.Error
	switch {
	case errors.As(err, &pe):
	case errors.As(err, &fe):
		e.Kind = llm.ErrInvalid
		return e
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind = llm.ErrTruncated
		return e
	default:
		return e
	}
	e.Status = pe.StatusCode
	if e.Status == http.StatusOK { // an error inside a stream that began well
		e.Status = 0
	}
	e.RetryAfter = retryAfter(pe.ResponseHeaders)
	said := saidError(pe.ResponseBody)
	var raw interface{ RawJSON() string }
	if said == (saying{}) && errors.As(pe.Cause, &raw) {
		said = saidError([]byte(raw.RawJSON()))
	}
	if said.Message != "" {
		e.Message = said.Message
	}
	e.Kind = kindOf(e.Status, said, pe)
	return e
}

// saying is what a provider says of an error; both wires have the same shape.
type saying struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// saidError reads the body of an error, with or without the head of the
// response before it.
func saidError(body []byte) saying {
	if _, after, ok := bytes.Cut(body, []byte("\r\n\r\n")); ok {
		body = after
	}
	var envelope struct {
		Error struct {
			Type    string          `json:"type"`
			Code    json.RawMessage `json:"code"` // a word or a number
			Message string          `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return saying{}
	}
	e := envelope.Error
	return saying{Type: e.Type, Code: strings.Trim(string(e.Code), `"`), Message: e.Message}
}

// kindOf maps the codes of an error to its kind.
func kindOf(status int, s saying, pe *fantasy.ProviderError) llm.ErrorKind {
	// No code of Anthropic's tells an overflow from other invalid requests; its
	// documented sentence does.
	if pe.IsContextTooLarge() || s.Code == "context_length_exceeded" || status == http.StatusRequestEntityTooLarge ||
		s.Type == "request_too_large" || s.Type == "invalid_request_error" && strings.HasPrefix(s.Message, "prompt is too long") {
		return llm.ErrOverflow
	}
	// Inside a stream there is no status, only the type.
	switch s.Type {
	case "authentication_error", "permission_error":
		return llm.ErrAuth
	case "rate_limit_error":
		return llm.ErrRateLimit
	case "overloaded_error":
		return llm.ErrOverloaded
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, pe.AuthError:
		return llm.ErrAuth
	case s.Code == "insufficient_quota": // waiting does not help
		return llm.ErrInvalid
	case status == http.StatusTooManyRequests:
		return llm.ErrRateLimit
	case status == statusOverloaded, status == http.StatusServiceUnavailable:
		return llm.ErrOverloaded
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout, status == http.StatusConflict, pe.TransientError:
		return llm.ErrServer
	case status >= http.StatusBadRequest:
		return llm.ErrInvalid
	case errors.Is(pe, io.ErrUnexpectedEOF):
		return llm.ErrTruncated
	case s.Type != "":
		return llm.ErrInvalid
	}
	return llm.ErrNetwork
}

// retryAfter reads how long to wait: milliseconds, seconds, or a date (RFC 9110,
// 10.2.3). What can't be read is no wait.
func retryAfter(headers map[string]string) time.Duration {
	value := map[string]string{}
	for name, v := range headers {
		value[strings.ToLower(name)] = v
	}
	if ms, err := strconv.ParseFloat(value["retry-after-ms"], 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if seconds, err := strconv.ParseFloat(value["retry-after"], 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value["retry-after"]); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
