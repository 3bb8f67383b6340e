package fantasyllm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// wire is one that every scenario runs on. Its folder of testdata has text.sse,
// which says Hello, and thinking.sse, which thinks, speaks and calls read twice.
type wire struct {
	name    string
	options Options
	folder  string
	path    string // what is asked
	key     string // the header that carries the key
	seal    string // of the thinking in thinking.sse
}

var wires = []wire{
	{"anthropic", Options{Type: Anthropic, Provider: "anthropic", Model: "claude-sonnet-4-5-20250929"}, "anthropic", "/v1/messages", "X-Api-Key", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
	{"responses", Options{Type: OpenAI, Provider: "openai", Model: "gpt-5"}, "responses", "/responses", "Authorization", ""},
	{"chat", Options{Type: OpenAICompatible, Provider: "mine", Model: "m"}, "openai", "/chat/completions", "Authorization", ""},
	{"google", Options{Type: Google, Provider: "gemini", Model: "gemini-2.5-pro"}, "google", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "X-Goog-Api-Key", "//79/A=="},
	{"openrouter", Options{Type: OpenRouter, Provider: "openrouter", Model: "anthropic/claude-sonnet-4.5"}, "openrouter", "/chat/completions", "Authorization", `{"anthropic":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}`},
}

// onEveryWire runs a scenario on each.
func onEveryWire(t *testing.T, scenario func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) { scenario(t, w) })
	}
}

func (w wire) stream(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + w.folder + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// failed is the error of an answer, which has to be one of the provider's.
func failed(t *testing.T, m *llm.Assistant, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || m != nil && m.StopReason != "" {
		t.Fatalf("%+v, %v", m, err)
	}
	return e
}

func TestAnswer(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "thinking.sse")))
		o := w.options
		o.APIKey, o.Headers = "the-secret-key", map[string]string{"X-Extra": "1"}
		m, events, err := ask(t, open(t, s, o), llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		thought := ""
		for _, b := range m.Content {
			switch b := b.(type) {
			case *llm.Thinking:
				thought += b.Text
				if !b.Redacted && b.Signature != w.seal && b.Text != "" && w.name != "google" {
					t.Errorf("sealed %q, want %q", b.Signature, w.seal)
				}
			case *llm.Text:
				kinds = append(kinds, "text "+b.Text)
			case *llm.ToolCall:
				kinds = append(kinds, fmt.Sprintf("call %s %s", b.Name, b.Arguments))
			}
		}
		want := []string{"text I read é𝄞.", `call read {"path":"a"}`, `call read {"path":"b"}`}
		if w.name == "anthropic" {
			want = []string{"text I read it.", `call read {"path": "a.txt"}`}
		}
		if d := cmp.Diff(want, kinds); d != "" || strings.TrimSpace(thought) != "Let me look." || m.StopReason != llm.StopToolUse {
			t.Errorf("%s thinking %q, %s", m.StopReason, thought, d)
		}
		balanced(t, events)

		// 20 in, 30 out, 100 read, and what OpenRouter says was written
		known := find(entry(o.Provider), o.Model)
		usage := tool.Usage{Input: 20, Output: 30, CacheRead: 100}
		switch w.name {
		case "anthropic":
			usage = tool.Usage{Input: 25, Output: 89, CacheRead: 1000, CacheWrite: 200}
		case "openrouter":
			usage.CacheWrite = 50
		}
		cost := (float64(usage.Input)*known.CostIn + float64(usage.Output)*known.CostOut +
			float64(usage.CacheRead)*known.CostCacheRead + float64(usage.CacheWrite)*known.CostCacheWrite) / 1e6
		if w.name != "chat" && cost == 0 {
			t.Error("the catalogue has no price")
		}
		if math.Abs(m.Usage.Cost-cost) > 1e-12 {
			t.Errorf("costs %v, want %v", m.Usage.Cost, cost)
		}
		m.Usage.Cost = 0
		if m.Usage != usage {
			t.Errorf("%+v, want %+v", m.Usage, usage)
		}
		r := s.requests[0]
		if r.path != w.path || r.header.Get("X-Extra") != "1" || strings.TrimPrefix(r.header.Get(w.key), "Bearer ") != "the-secret-key" {
			t.Errorf("asked %s with %v", r.path, r.header)
		}
	})
}

// balanced checks that every block begins, then ends, once.
func balanced(t *testing.T, events []string) {
	t.Helper()
	open := map[string]string{}
	for _, e := range events {
		index, rest, _ := strings.Cut(e, " ")
		kind, _, _ := strings.Cut(rest, " ")
		block, step, ok := strings.Cut(kind, "_")
		switch {
		case !ok:
		case step == "start" && open[index] == "":
			open[index] = block
		case step == "delta" && open[index] == block:
		case step == "end" && open[index] == block:
			open[index] = "ended"
		default:
			t.Errorf("%s, but the block is %q", e, open[index])
		}
	}
	for index, state := range open {
		if state != "ended" {
			t.Errorf("block %s (%s) does not end", index, state)
		}
	}
}

// What an answer brings goes back as it came: thinking with its seal, calls with
// their arguments, results behind them.
func TestSealsGoBack(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "thinking.sse")))
		p := open(t, s, w.options)
		m, _, err := ask(t, p, llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		var messages []llm.Message
		messages = append(messages, llm.UserText("go", 1), m)
		for _, c := range m.ToolCalls() {
			messages = append(messages, &llm.ToolResult{ToolCallID: c.ID, ToolName: c.Name, Content: []tool.Content{tool.Text{Text: "result of " + c.ID}}})
		}
		if _, _, err := ask(t, p, llm.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		text := body(t, s)
		sealed := map[string]string{
			"anthropic": `"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"`, "google": `"thoughtSignature": "//79/A=="`, "openrouter": `"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"`,
		}[w.name]
		parts := []string{sealed}
		for _, c := range m.ToolCalls() {
			parts = append(parts, c.ID, "result of "+c.ID)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("the request lacks %s:\n%s", part, text)
			}
		}
		// Another provider's thinking stays at home.
		other := *m
		other.Provider = "other"
		messages[1] = &other
		if _, _, err := ask(t, p, llm.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		if text := body(t, s); sealed != "" && strings.Contains(text, sealed) {
			t.Errorf("another provider's thinking was sent:\n%s", text)
		}
	})
}

// OpenRouter hands on the encrypted thinking of OpenAI's models.
func TestOpenRouterEncryptedThinking(t *testing.T) {
	s := serve(t, file(t, "openrouter/encrypted.sse"))
	p := open(t, s, Options{Type: OpenRouter, Model: "openai/gpt-5"})
	m, _, err := ask(t, p, llm.Request{})
	if err != nil || m.Text() != "I see." {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, _, err := ask(t, p, llm.Request{Messages: []llm.Message{llm.UserText("go", 1), m, llm.UserText("on", 2)}}); err != nil {
		t.Fatal(err)
	}
	text := body(t, s)
	for _, part := range []string{`"data": "gAAAA"`, `"id": "rs_1"`, `"summary": "Let me look."`} {
		if !strings.Contains(text, part) {
			t.Errorf("the request lacks %s:\n%s", part, text)
		}
	}
}

func TestImages(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "text.sse")))
		if _, _, err := ask(t, open(t, s, w.options), conversation()); err != nil {
			t.Fatal(err)
		}
		text := body(t, s)
		for _, image := range []string{"png", "one"} { // of the user, of a result
			if !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(image))) {
				t.Errorf("image %s is missing:\n%s", image, text)
			}
		}
	})
}

// The markers stand where Anthropic looks for them: behind what is the same in
// every request, and behind the conversation so far.
func TestCacheMarkers(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "text.sse")))
		if _, _, err := ask(t, open(t, s, w.options), conversation()); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"anthropic": 2, "openrouter": 2}[w.name]
		if got := strings.Count(body(t, s), `"cache_control"`); got != want {
			t.Errorf("%d markers, want %d:\n%s", got, want, body(t, s))
		}
	})
}

// inMemory answers requests without a network.
type inMemory func(*http.Request) *http.Response

func (f inMemory) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// streaming is an answer with a body.
func streaming(r *http.Request, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: io.NopCloser(body),
	}
}

// repeated never ends.
type repeated string

func (s repeated) Read(p []byte) (int, error) { return copy(p, strings.Repeat(string(s), len(p))), nil }

// breaking is a body that breaks where it ends.
type breaking struct {
	io.Reader
	err error
}

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

// A stream that is cut is never a whole answer, wherever it is cut.
func TestPROV04CutAtEachByte(t *testing.T) {
	ends := map[string]string{
		"anthropic": "event: message_stop", "responses": `data: {"type":"response.completed"`, "chat": `"finish_reason": "stop"`, "google": `"finishReason":"STOP"`, "openrouter": `"finish_reason": "stop"`,
	}
	onEveryWire(t, func(t *testing.T, w wire) {
		stream := w.stream(t, "text.sse")
		end := strings.Index(stream, ends[w.name])
		if end < 0 {
			t.Fatalf("there is no %s", ends[w.name])
		}
		end += strings.IndexByte(stream[end:], '\n') // the line must be whole
		var body io.Reader
		o := w.options
		o.BaseURL = "http://provider.test"
		o.HTTPClient = &http.Client{Transport: inMemory(func(r *http.Request) *http.Response { return streaming(r, body) })}
		p, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		answer := func(b io.Reader) (*llm.Assistant, error) {
			body = b
			return p.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(llm.StreamEvent) {})
		}
		whole, err := answer(strings.NewReader(stream))
		if err != nil || whole.StopReason != llm.StopEnd {
			t.Fatalf("%+v, %v", whole, err)
		}
		for n := range end + 1 {
			for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF} {
				if !errors.Is(broken, io.EOF) && n%7 != 0 && n < end-20 {
					continue
				}
				m, err := answer(breaking{strings.NewReader(stream[:n]), broken})
				if e := failed(t, m, err); e.Kind != llm.ErrTruncated || !strings.HasPrefix(whole.Text(), m.Text()) {
					t.Fatalf("cut at %d of %d, %v: %q, %v", n, len(stream), broken, m.Text(), err)
				}
			}
		}
	})
}

// A write of any size, split anywhere.
func TestPROV06EveryWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		stream := w.stream(t, "text.sse")
		word := "Hello"
		if !strings.Contains(stream, `"`+word+`"`) {
			word = "lo"
		}
		for _, size := range []int{100, 5 << 18} {
			long := strings.Repeat("é𝄞€", size/9)
			quoted := strings.Replace(stream, `"`+word+`"`, `"`+long+`"`, 1)
			m, _, err := ask(t, open(t, serve(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream")
				step := 1
				if size > 1000 {
					step = len(quoted)
				}
				for i := 0; i < len(quoted); i += step {
					_, _ = io.WriteString(rw, quoted[i:min(len(quoted), i+step)])
					_ = http.NewResponseController(rw).Flush()
				}
			}), w.options), llm.Request{})
			if err != nil || !strings.HasSuffix(strings.TrimSuffix(m.Text(), "!"), long) || m.StopReason != llm.StopEnd {
				t.Errorf("%d bytes: %d came, %v", len(long), len(m.Text()), err)
			}
		}
	})
	// Over the cap it is an error, not an end; Google's library alone would take it.
	endless := io.MultiReader(strings.NewReader("data: "), repeated("x"))
	s := &server{url: "http://provider.test", client: &http.Client{Transport: inMemory(func(r *http.Request) *http.Response { return streaming(r, endless) })}}
	m, _, err := ask(t, open(t, s, Options{Type: Google}), llm.Request{})
	if e := failed(t, m, err); e.Retryable() || !strings.Contains(e.Message, "32 MB") {
		t.Errorf("%v", err)
	}
}

// Kinds of events that nobody knows yet, comments and pings are passed over.
func TestUnknownEvents(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		noise := ": keep-alive\n\nevent: x_new\ndata: {\"type\":\"x_new\",\"value\":[1,{\"a\":null}]}\n\nid: 7\nretry: 10\n\n"
		stream := strings.ReplaceAll(w.stream(t, "text.sse"), "\n\n", "\n\n"+noise)
		for name, text := range map[string]string{"noise": stream, "carriage returns": strings.ReplaceAll(stream, "\n", "\r\n")} {
			m, _, err := ask(t, open(t, serve(t, sse(text)), w.options), llm.Request{})
			if err != nil || m.Text() == "" || m.StopReason != llm.StopEnd {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
		}
	})
}

func TestMalformedEvent(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		stream := w.stream(t, "text.sse")
		at := strings.LastIndex(stream[:len(stream)*2/3], "\n\n") + 2
		for _, event := range []string{"data: {\"half\": \n\n", "data: <html>oops</html>\n\n", "data: {} {}\n\n"} {
			m, _, err := ask(t, open(t, serve(t, sse(stream[:at]+event+stream[at:])), w.options), llm.Request{})
			if e := failed(t, m, err); !e.Retryable() || !strings.Contains(e.Message, "no JSON") {
				t.Errorf("%q: %v", event, err)
			}
		}
	})
}

// A page in the place of an answer says where it came from.
func TestPages(t *testing.T) {
	page := "<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title><style>a{}</style></head><body><h1>x</h1>" + strings.Repeat("<p>long</p>", 5000) + "</body></html>"
	onEveryWire(t, func(t *testing.T, w wire) {
		m, _, err := ask(t, open(t, serve(t, status(502, page, "Content-Type", "text/html; charset=utf-8")), w.options), llm.Request{})
		if e := failed(t, m, err); e.Kind != llm.ErrServer || e.Status != 502 || e.Message != "502 Bad Gateway" {
			t.Errorf("%v", err)
		}
		m, _, err = ask(t, open(t, serve(t, status(200, page, "Content-Type", "text/html")), w.options), llm.Request{})
		if e := failed(t, m, err); e.Retryable() || !strings.Contains(e.Message, "text/html instead of a stream: 502 Bad Gateway; is base_url right?") {
			t.Errorf("%v", err)
		}
		m, _, err = ask(t, open(t, serve(t, status(200, `{"error":{"message":"no stream here","code":503}}`)), w.options), llm.Request{})
		if e := failed(t, m, err); e.Kind != llm.ErrOverloaded || e.Message != "no stream here" {
			t.Errorf("%v", err)
		}
		m, _, err = ask(t, open(t, serve(t, status(503, "", "Content-Type", "text/plain")), w.options), llm.Request{})
		if e := failed(t, m, err); e.Kind != llm.ErrOverloaded || e.Message != "service unavailable" {
			t.Errorf("%v", err)
		}
	})
}

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

// Silence ends an answer, and so do pings that bring it no further; the error says
// which it was. All wait at the same time.
func TestPROV02EveryWire(t *testing.T) {
	const silence = 2 * time.Second // the first bytes have to come in that time
	outcomes := make(chan string)
	waiting := 0
	for _, w := range wires {
		stream := w.stream(t, "thinking.sse")
		head := stream[:strings.Index(stream, "look.")]
		head = head[:strings.LastIndex(head, "\n\n")+2]
		for name, c := range map[string]struct {
			handler http.HandlerFunc
			want    string
		}{
			"silence":   {beats(head, ""), "nothing came for 2s"},
			"pings":     {beats(head, ": ping\n\n"), "only keep-alives came for 2s"},
			"no header": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "nothing came for 2s"},
		} {
			o := w.options
			o.IdleTimeout = silence
			p := open(t, serve(t, c.handler), o)
			waiting++
			go func() {
				m, err := p.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(llm.StreamEvent) {})
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != llm.ErrIdle || !e.Retryable() || e.Message != c.want || m != nil && m.StopReason != "" {
					outcomes <- fmt.Sprintf("%s, %s: %+v, %v", w.name, name, m, err)
					return
				}
				outcomes <- ""
			}()
		}
	}
	for range waiting {
		if outcome := <-outcomes; outcome != "" {
			t.Error(outcome)
		}
	}
}

// beats answers with head, then with beat until the client goes.
func beats(head, beat string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, head)
		_ = http.NewResponseController(w).Flush()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				_, _ = io.WriteString(w, beat)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// An abort ends the answer here and the request at the server.
func TestPROV02Abort(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		stream := w.stream(t, "thinking.sse")
		head := stream[:strings.Index(stream, "look.")]
		ended := make(chan struct{})
		s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
			defer close(ended)
			beats(head[:strings.LastIndex(head, "\n\n")+2], "")(rw, r)
		})
		cause := errors.New("the user pressed escape")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		m, err := open(t, s, w.options).Stream(ctx, llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(e llm.StreamEvent) {
			if e.Kind == llm.StreamThinkingDelta {
				cancel(cause)
			}
		})
		if !errors.Is(err, cause) || m == nil || len(m.Content) == 0 || m.StopReason != "" {
			t.Errorf("%+v, %v", m, err)
		}
		<-ended // or the test's own timeout
	})
}
