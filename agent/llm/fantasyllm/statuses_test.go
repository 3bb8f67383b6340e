package fantasyllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
)

// says is the body of an error as a wire writes it.
func (w wire) says(code int, word, text string) string {
	object := map[string]any{"message": text}
	switch w.name {
	case "anthropic":
		object["type"] = word
		return encode(map[string]any{"type": "error", "error": object})
	case "google":
		object["code"], object["status"] = code, word
	case "openrouter":
		object["code"] = code
	default:
		object["type"], object["code"], object["param"] = "invalid_request_error", nil, nil
	}
	return encode(map[string]any{"error": object})
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestPROV05Statuses(t *testing.T) {
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, nil)
		p := open(t, s, w.options)
		for _, c := range []struct {
			status     int
			word       string // Anthropic's and Google's
			retryAfter string
			kind       llm.ErrorKind
			min, max   time.Duration
			retryable  bool
		}{
			{400, "x", "", llm.ErrInvalid, 0, 0, false},
			{401, "x", "", llm.ErrAuth, 0, 0, false},
			{402, "x", "", llm.ErrInvalid, 0, 0, false},
			{403, "x", "", llm.ErrAuth, 0, 0, false},
			{404, "x", "", llm.ErrInvalid, 0, 0, false},
			{413, "x", "", llm.ErrOverflow, 0, 0, false},
			{429, "x", "3", llm.ErrRateLimit, 3 * time.Second, 3 * time.Second, true},
			{429, "x", date, llm.ErrRateLimit, 50 * time.Minute, time.Hour, true},
			{429, "x", "soon", llm.ErrRateLimit, 0, 0, true},
			{429, "x", "86400", llm.ErrRateLimit, 24 * time.Hour, 24 * time.Hour, true},
			{500, "x", "", llm.ErrServer, 0, 0, true},
			{502, "x", "", llm.ErrServer, 0, 0, true},
			{503, "x", "7", llm.ErrOverloaded, 7 * time.Second, 7 * time.Second, true},
			{529, "x", "", llm.ErrOverloaded, 0, 0, true},
		} {
			s.requests, s.handler = nil, status(c.status, w.says(c.status, c.word, "said so"), "Retry-After", c.retryAfter)
			m, _, err := ask(t, p, llm.Request{})
			e := failed(t, m, err)
			if e.Kind != c.kind || e.Status != c.status || e.Message != "said so" || e.RetryAfter < c.min || e.RetryAfter > c.max || e.Retryable() != c.retryable {
				t.Errorf("%d, %q: %v, wait %v", c.status, c.retryAfter, e, e.RetryAfter)
			}
			if len(s.requests) != 1 {
				t.Errorf("asked %d times: retries belong to the loop", len(s.requests))
			}
		}
	})
}

// Each provider has its words for a full context, and for limits that are none.
func TestOverflowWords(t *testing.T) {
	words := map[string]llm.ErrorKind{
		"prompt is too long: 213462 tokens > 200000 maximum":                                                      llm.ErrOverflow,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":            llm.ErrOverflow,
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.":     llm.ErrOverflow,
		"Requested token count exceeds the model's maximum context length of 131072 tokens":                       llm.ErrOverflow,
		"litellm.ContextWindowExceededError: Context Window exceeded for given call":                              llm.ErrOverflow,
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).":                 llm.ErrOverflow,
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens":                     llm.ErrOverflow,
		"Please reduce the length of the messages or completion.":                                                 llm.ErrOverflow,
		"Input length 300000 exceeds the maximum allowed input length of 262144 tokens.":                          llm.ErrOverflow,
		"The input (300 tokens) is longer than the model's context length (200 tokens).":                          llm.ErrOverflow,
		"the request exceeds the available context size, try increasing it":                                       llm.ErrOverflow,
		"tokens to keep from the initial prompt is greater than the context length":                               llm.ErrOverflow,
		"invalid params, context window exceeds limit":                                                            llm.ErrOverflow,
		"Your request exceeded model token limit: 262144 (requested: 300000)":                                     llm.ErrOverflow,
		"Prompt contains 300 tokens and 0 draft tokens, too large for model with 200 maximum context length":      llm.ErrOverflow,
		"Range of input length should be [1, 129024]":                                                             llm.ErrOverflow,
		"prompt too long; exceeded max context length by 4 tokens":                                                llm.ErrOverflow,
		"max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens":                        llm.ErrInvalid,
		"messages.3: tool_use ids were found without tool_result blocks":                                          llm.ErrInvalid,
		"Rate limit: this request would exceed the maximum context length tokens per minute of your organization": llm.ErrInvalid,
		"image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes":                                               llm.ErrInvalid,
	}
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, nil)
		p := open(t, s, w.options)
		for said, want := range words {
			s.handler = status(400, w.says(400, "x", said))
			m, _, err := ask(t, p, llm.Request{})
			if e := failed(t, m, err); e.Kind != want {
				t.Errorf("%s: %s", said, e.Kind)
			}
		}
	})
	// A limit of the rate passes, however it is put.
	m, _, err := ask(t, open(t, serve(t, status(429, `{"error":{"message":"maximum context length tokens in this minute"}}`)), wires[2].options), llm.Request{})
	if e := failed(t, m, err); e.Kind != llm.ErrRateLimit {
		t.Errorf("%v", e)
	}
}

// What Google says beside the status.
func TestGoogleDetails(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.Error
	}{
		"wait": {
			429, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`,
			llm.Error{Kind: llm.ErrRateLimit, Status: 429, Message: "quota", RetryAfter: 34500 * time.Millisecond},
		},
		"wrong key": {
			400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`,
			llm.Error{Kind: llm.ErrAuth, Status: 400, Message: "API key not valid."},
		},
		"list": {
			503, `[{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]`,
			llm.Error{Kind: llm.ErrOverloaded, Status: 503, Message: "overloaded"},
		},
	} {
		m, _, err := ask(t, open(t, serve(t, status(c.status, c.body)), Options{Type: Google}), llm.Request{})
		if d := cmp.Diff(c.want, *failed(t, m, err)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Providers repeat keys, proxies repeat requests: no error does.
func TestNoKeyInErrors(t *testing.T) {
	const key = "sk-live-0123456789"
	onEveryWire(t, func(t *testing.T, w wire) {
		o := w.options
		o.APIKey, o.Headers = key, map[string]string{"X-Proxy-Auth": "Bearer proxy-0123456789"}
		echo := func(code int, kind string) http.HandlerFunc {
			return func(rw http.ResponseWriter, r *http.Request) {
				text := fmt.Sprintf("Incorrect API key provided: %s. Headers: %v", key, r.Header)
				if kind == "application/json" {
					text = w.says(code, "x", text)
				}
				rw.Header().Set("Content-Type", kind)
				rw.WriteHeader(code)
				_, _ = io.WriteString(rw, text)
			}
		}
		gone := serve(t, status(200, ""))
		gone.url = "http://" + key + "@127.0.0.1:1/" + key // a key in the address
		for name, s := range map[string]*server{
			"401": serve(t, echo(401, "application/json")), "400 text": serve(t, echo(400, "text/plain")), "page": serve(t, echo(200, "text/html")),
			"stream": serve(t, sse("data: "+w.says(500, "api_error", "key "+key)+"\n\n")), "no JSON": serve(t, sse("data: "+key+"\n\n")), "no server": gone,
		} {
			_, _, err := ask(t, open(t, s, o), llm.Request{})
			for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%q", err)} {
				if err == nil || strings.Contains(text, key) || strings.Contains(text, "proxy-0123456789") {
					t.Errorf("%s: %s", name, text)
				}
			}
			for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
				if strings.Contains(cause.Error(), key) {
					t.Errorf("%s, in the cause: %v", name, cause)
				}
			}
		}
	})
}
