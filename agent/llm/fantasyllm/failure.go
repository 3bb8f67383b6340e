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

	"github.com/piremote/piremote/agent/llm"
)

// statusOverloaded is Anthropic's own status.
const statusOverloaded = 529

// failure classifies what went wrong. err is what the library says; it may be nil
// if inner has ended or the exchange has failed.
func (p *provider) failure(ctx, inner context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(context.Cause(inner), errIdle) {
		text := "nothing came for " + p.options.IdleTimeout.String()
		if x.beats.Load() {
			text = "only keep-alives came for " + p.options.IdleTimeout.String()
		}
		return &llm.Error{Kind: llm.ErrIdle, Message: text}
	}
	e := p.classify(x, err)
	e.Message = p.clean(e.Message)
	if e.Err != nil && p.clean(e.Err.Error()) != e.Err.Error() {
		e.Err = nil // nobody should print what the message had to leave out
	}
	return e
}

func (p *provider) classify(x *exchange, err error) *llm.Error {
	switch {
	case errors.Is(x.err, errLongLine):
		return &llm.Error{Kind: llm.ErrInvalid, Message: errLongLine.Error(), Err: errLongLine}
	case x.status >= http.StatusBadRequest:
		said := saidError(x.body)
		e := &llm.Error{Kind: kindOf(x.status, said), Status: x.status, Message: said.Message, RetryAfter: max(retryAfter(x.header), said.Wait)}
		if e.Message == "" {
			e.Message = strings.ToLower(http.StatusText(x.status))
		}
		return e
	case x.body != nil: // a page where a stream was expected
		e := &llm.Error{Kind: llm.ErrInvalid, Message: x.err.Error()}
		if said := saidError(x.body); isJSONError(x.body) {
			e.Kind, e.Message = kindOf(0, said), said.Message
		}
		return e
	case x.said != (saying{}):
		return &llm.Error{Kind: kindOf(0, x.said), Message: x.said.Message, RetryAfter: x.said.Wait}
	case x.err != nil && !errors.Is(x.err, context.Canceled):
		err = x.err
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	e := &llm.Error{Kind: llm.ErrNetwork, Message: err.Error(), Err: err}
	var fe *fantasy.Error
	switch {
	case errors.As(err, &fe):
		e.Kind = llm.ErrInvalid
	case errors.Is(err, io.ErrUnexpectedEOF) && x.status == 0:
		e.Message = "the connection ended before there was an answer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Message = llm.ErrTruncated, "the stream ended before the answer did"
	case x.status != 0:
		e.Kind = llm.ErrTruncated
	}
	return e
}

// clean takes the secrets of the options out of a text: some providers repeat the
// key that they refuse.
func (p *provider) clean(text string) string {
	secrets := []string{p.options.APIKey}
	for _, value := range p.options.Headers {
		secrets = append(secrets, value, strings.TrimPrefix(value, "Bearer "))
	}
	for _, secret := range secrets {
		if len(secret) >= 6 { // less is no secret, and would eat words
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// isJSONError says whether an answer with status 200 is an error all the same.
func isJSONError(body []byte) bool {
	var e struct {
		Error any `json:"error"`
	}
	return json.Unmarshal(body, &e) == nil && e.Error != nil
}

// kindOf maps what is said of an error to its kind.
func kindOf(status int, s saying) llm.ErrorKind {
	if status == 0 {
		status = s.Number
	}
	if status == http.StatusRequestEntityTooLarge || s.Code == "context_length_exceeded" || s.Type == "request_too_large" ||
		status != http.StatusTooManyRequests && tellsOverflow(s.Message) {
		return llm.ErrOverflow
	}
	// No waiting helps against an empty account.
	if s.Code == "insufficient_quota" || s.Type == "insufficient_quota" || s.Type == "billing_error" {
		return llm.ErrInvalid
	}
	if kind := wordKind(s); kind != "" && (kind != llm.ErrServer || status == 0) { // a status is finer than that
		return kind
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return llm.ErrAuth
	case status == http.StatusTooManyRequests:
		return llm.ErrRateLimit
	case status == statusOverloaded, status == http.StatusServiceUnavailable:
		return llm.ErrOverloaded
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return llm.ErrServer
	case status >= http.StatusBadRequest:
		return llm.ErrInvalid
	case s.Type != "" || s.Code != "" || s.Status != "":
		return llm.ErrInvalid
	}
	return llm.ErrServer
}

// wordKind is the kind of an error by its words. Inside a stream there is nothing
// else; beside a status they are finer.
func wordKind(s saying) llm.ErrorKind {
	if s.Reason == "API_KEY_INVALID" { // Google's 400 for a wrong key
		return llm.ErrAuth
	}
	for _, word := range []string{s.Type, s.Code, s.Status} {
		switch word {
		case "authentication_error", "permission_error", "invalid_api_key", "UNAUTHENTICATED", "PERMISSION_DENIED":
			return llm.ErrAuth
		case "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED":
			return llm.ErrRateLimit
		case "overloaded_error", "server_overloaded", "engine_overloaded", "UNAVAILABLE":
			return llm.ErrOverloaded
		case "api_error", "server_error", "internal_error", "internal_server_error", "timeout_error", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED":
			return llm.ErrServer
		case "content_filter", "content_policy_violation", typeBlocked:
			return llm.ErrRefused
		}
	}
	return ""
}

// retryAfter reads how long to wait: milliseconds, seconds, or a date (RFC 9110,
// 10.2.3). What can't be read is no wait.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
