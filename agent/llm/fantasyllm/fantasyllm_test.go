package fantasyllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/piremote/piremote/agent/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server speaks a provider's wire: it answers each request with handler and
// remembers what was asked.
type server struct {
	url     string
	client  *http.Client
	handler http.HandlerFunc

	mu       sync.Mutex
	requests []request
}

type request struct {
	path   string
	header http.Header
	body   map[string]any
}

func serve(t *testing.T, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{handler: handler}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("request body: %v", err)
		}
		s.mu.Lock()
		s.requests = append(s.requests, request{r.URL.Path, r.Header.Clone(), body})
		s.mu.Unlock()
		s.handler(w, r)
	}))
	s.url, s.client = h.URL, h.Client()
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// file answers with a recorded stream.
func file(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(data)
	}
}

// status answers with an error.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// hang answers with the head of a recorded stream, then with beat every few
// milliseconds until the client goes.
func hang(t *testing.T, name, until, beat string) http.HandlerFunc {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(data), until)
	if !ok {
		t.Fatalf("%s has no %q", name, until)
	}
	return beats(head, beat)
}

func wireOf(name string) Options {
	folder, _, _ := strings.Cut(name, "/")
	switch folder {
	case "anthropic":
		return Options{Type: Anthropic}
	case "responses":
		return Options{Type: OpenAI, Model: "gpt-5"}
	case "google":
		return Options{Type: Google}
	case "openrouter":
		return Options{Type: OpenRouter}
	}
	return Options{Type: OpenAICompatible}
}

func open(t *testing.T, s *server, o Options) llm.Provider {
	t.Helper()
	o.BaseURL, o.HTTPClient = s.url, s.client
	if o.Provider == "" {
		o.Provider = "test"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	p, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(t *testing.T, p llm.Provider, req llm.Request) (*llm.Assistant, []string, error) {
	t.Helper()
	if req.Messages == nil {
		req.Messages = []llm.Message{llm.UserText("go", 1)}
	}
	var events []string
	m, err := p.Stream(t.Context(), req, func(e llm.StreamEvent) {
		events = append(events, strings.TrimSpace(fmt.Sprintf("%d %s %s%s", e.ContentIndex, e.Kind, e.Delta, e.Content)))
	})
	return m, events, err
}

func calls(m *llm.Assistant) []string {
	var list []string
	for _, c := range m.ToolCalls() {
		list = append(list, fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Arguments))
	}
	return list
}

func TestAnthropicAnswer(t *testing.T) {
	s := serve(t, file(t, "anthropic/thinking.sse"))
	p := open(t, s, Options{Type: Anthropic, Provider: "anthropic", Model: "claude-sonnet-4-5-20250929", APIKey: "secret"})
	m, events, err := ask(t, p, llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Block{
		&llm.Thinking{Text: "Let me look.", Signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
		&llm.Thinking{Signature: "EmwKAhgBEgy3va3pzix", Redacted: true},
		&llm.Text{Text: "I read it."},
		&llm.ToolCall{ID: "toolu_1", Name: "read", Arguments: json.RawMessage(`{"path": "a.txt"}`)},
	}
	if d := cmp.Diff(want, m.Content); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"0 start",
		"0 thinking_start", "0 thinking_delta Let me", "0 thinking_delta look.", "0 thinking_end Let me look.",
		"1 thinking_start", "1 thinking_end",
		"2 text_start", "2 text_delta I read", "2 text_delta it.", "2 text_end I read it.",
		"3 toolcall_start", `3 toolcall_delta {"path":`, `3 toolcall_delta "a.txt"}`, "3 toolcall_end",
	}, events); d != "" {
		t.Error(d)
	}
	// 25 in at 3, 89 out at 15, 1000 read at 0.3, 200 written at 3.75 dollars a million
	cost := (25*3 + 89*15 + 1000*0.3 + 200*3.75) / 1e6
	if diff := m.Usage.Cost - cost; m.StopReason != llm.StopToolUse || m.Usage.Input != 25 || m.Usage.Output != 89 || m.Usage.CacheRead != 1000 ||
		m.Usage.CacheWrite != 200 || diff > 1e-9 || diff < -1e-9 {
		t.Errorf("%s, %+v, want cost %v", m.StopReason, m.Usage, cost)
	}
}

func TestOpenAIAnswer(t *testing.T) {
	for name, want := range map[string][]llm.Block{
		"openai/text.sse":      {&llm.Text{Text: "Hello"}},
		"openai/reasoning.sse": {&llm.Thinking{Text: "Let me look."}, &llm.Text{Text: "Hello"}},
	} {
		s := serve(t, file(t, name))
		m, _, err := ask(t, open(t, s, Options{Type: OpenAICompatible}), llm.Request{})
		if err != nil || m.StopReason != llm.StopEnd || m.Usage.Input != 20 || m.Usage.CacheRead != 100 || m.Usage.Output != 30 {
			t.Errorf("%s: %+v, %v", name, m, err)
			continue
		}
		// The end of thinking may be told after the start of the text.
		if d := cmp.Diff(len(want), len(m.Content)); d != "" || m.Text() != "Hello" {
			t.Errorf("%s: %+v", name, m.Content)
		}
	}
}

// What each way of sending calls becomes, by hazard.
func TestToolCalls(t *testing.T) {
	for name, want := range map[string]struct {
		stop  llm.StopReason
		kind  llm.ErrorKind
		calls []string
	}{
		"anthropic/parallel.sse": {stop: llm.StopToolUse, calls: []string{ // PROV-03 (5): an id that comes twice
			`toolu_1 read {"path":"a"}`, `toolu_1_2 read {"path":"b"}`, `toolu_3 ls {}`,
		}},
		"openai/parallel.sse": {stop: llm.StopToolUse, calls: []string{`call_a read {"path":"a"}`, `call_b read {"path":"b"}`}}, // PROV-03 (4): ends twice
		"openai/same-id.sse":  {stop: llm.StopToolUse, calls: []string{`call_a read {"path":"a"}`, `call_a_2 read {"path":"b"}`}},
		// PROV-03 (1) and (2): one index for all calls, or none
		"openai/shared-index.sse": {stop: llm.StopToolUse, calls: []string{`call_a read {"path":"a"}`, `call_b read {"path":"b"}`}},
		"openai/no-index.sse":     {stop: llm.StopToolUse, calls: []string{`call_a read {"path":"a"}`, `call_b read {"path":"b"}`}},
		// PROV-01 (a), (d): cut at the output limit
		"anthropic/cut-arguments.sse": {stop: llm.StopLength, calls: []string{`toolu_1 read {"path":"a"}`, `toolu_2 write {"path":"a","content":"half`}},
		"openai/cut-arguments.sse":    {stop: llm.StopLength, calls: []string{`call_a read {"path":"a"}`, `call_b write {"path":"a","content":"half`}},
		// PROV-01 (c): a proper end with broken arguments, left to validation
		"anthropic/invalid-arguments.sse": {stop: llm.StopToolUse, calls: []string{`toolu_1 write {"path":"a","content":"half`}},
		"openai/invalid-arguments.sse":    {stop: llm.StopToolUse, calls: []string{`call_a write {"path":"a","content":"half`}},
		"openai/stop-with-call.sse":       {stop: llm.StopToolUse, calls: []string{`call_a read {"path":"a"}`}},
		// PROV-01 (b), PROV-04: no end
		"anthropic/no-end.sse":            {kind: llm.ErrTruncated},
		"anthropic/no-end-after-call.sse": {kind: llm.ErrTruncated, calls: []string{`toolu_1 write {"path":"a","content":"whole"}`}},
		"openai/no-end.sse":               {kind: llm.ErrTruncated},
		"openai/no-end-after-call.sse":    {kind: llm.ErrTruncated, calls: []string{`call_a write {"path":"a","content":"whole"}`}},
		"openai/filtered.sse":             {kind: llm.ErrRefused, calls: []string{`call_a write {"path":"a","content":"half`}},
		"anthropic/refusal.sse":           {kind: llm.ErrRefused},
		"anthropic/overloaded.sse":        {kind: llm.ErrOverloaded},
		"anthropic/too-long.sse":          {kind: llm.ErrOverflow},
		"openai/error.sse":                {kind: llm.ErrServer},

		"responses/cut-arguments.sse": {stop: llm.StopLength, calls: []string{`call_a read {"path":"a"}`, `call_b write {"path":"a","content":"half`}},
		"responses/no-end.sse":        {kind: llm.ErrTruncated, calls: []string{`call_a read {"path":"a"}`, `call_b write {"path":"a","content":"half`}},
		"responses/filtered.sse":      {kind: llm.ErrRefused, calls: []string{`call_a read {"path":"a"}`, `call_b write {"path":"a","content":"half`}},
		"responses/failed.sse":        {kind: llm.ErrServer},
		"responses/rate-limit.sse":    {kind: llm.ErrRateLimit},
		"responses/too-long.sse":      {kind: llm.ErrOverflow},

		// Google's library takes calls for the end of an answer, whatever ended it.
		"google/cut-arguments.sse":  {stop: llm.StopLength, calls: []string{`call_a read {"path":"a"}`}},
		"google/no-end.sse":         {kind: llm.ErrTruncated, calls: []string{`call_a read {"path":"a"}`}},
		"google/no-arguments.sse":   {stop: llm.StopToolUse, calls: []string{`call_a ls {}`}},
		"google/filtered.sse":       {kind: llm.ErrRefused},
		"google/blocked.sse":        {kind: llm.ErrRefused},
		"google/malformed-call.sse": {kind: llm.ErrServer},
		"google/overloaded.sse":     {kind: llm.ErrOverloaded},

		"openrouter/error.sse": {kind: llm.ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, file(t, name))
			m, _, err := ask(t, open(t, s, wireOf(name)), llm.Request{})
			if want.kind != "" {
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != want.kind || m.StopReason != "" {
					t.Errorf("%+v, %v", m, err)
				}
				if (name == "anthropic/no-end.sse" || name == "openai/no-end.sse") && !strings.HasPrefix(m.Text(), "Half a sentence") {
					t.Errorf("the text is lost: %q", m.Text())
				}
			} else if err != nil || m.StopReason != want.stop {
				t.Errorf("%s, %v", m.StopReason, err)
			}
			if d := cmp.Diff(want.calls, calls(m)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	anthropic := func(kind, text string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, text)
	}
	openai := func(kind, code, text string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, text, kind, code)
	}
	for name, c := range map[string]struct {
		wire    Type
		handler http.HandlerFunc
		want    llm.Error
	}{
		"429":         {Anthropic, status(429, anthropic("rate_limit_error", "slow"), "Retry-After", "3"), llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 3 * time.Second, Message: "slow"}},
		"429 garbage": {Anthropic, status(429, anthropic("rate_limit_error", "slow"), "Retry-After", "soon"), llm.Error{Kind: llm.ErrRateLimit, Status: 429, Message: "slow"}},
		"529":         {Anthropic, status(529, anthropic("overloaded_error", "Overloaded")), llm.Error{Kind: llm.ErrOverloaded, Status: 529, Message: "Overloaded"}},
		"400":         {Anthropic, status(400, anthropic("invalid_request_error", "bad")), llm.Error{Kind: llm.ErrInvalid, Status: 400, Message: "bad"}},
		"401":         {Anthropic, status(401, anthropic("authentication_error", "key")), llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "key"}},
		"500":         {Anthropic, status(500, anthropic("api_error", "oops")), llm.Error{Kind: llm.ErrServer, Status: 500, Message: "oops"}},
		"413":         {Anthropic, status(413, anthropic("request_too_large", "large")), llm.Error{Kind: llm.ErrOverflow, Status: 413, Message: "large"}},
		"overflow":    {Anthropic, status(400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")), llm.Error{Kind: llm.ErrOverflow, Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}},

		"openai 429":      {OpenAI, status(429, openai("requests", "rate_limit_exceeded", "slow"), "Retry-After-Ms", "1500"), llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 1500 * time.Millisecond, Message: "slow"}},
		"openai quota":    {OpenAI, status(429, openai("insufficient_quota", "insufficient_quota", "pay")), llm.Error{Kind: llm.ErrInvalid, Status: 429, Message: "pay"}},
		"openai overflow": {OpenAICompatible, status(400, openai("invalid_request_error", "context_length_exceeded", "too long")), llm.Error{Kind: llm.ErrOverflow, Status: 400, Message: "too long"}},
		"openai 401":      {OpenAI, status(401, openai("invalid_request_error", "invalid_api_key", "key")), llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "key"}},
		"openai 503":      {OpenAICompatible, status(503, openai("server_error", "", "busy")), llm.Error{Kind: llm.ErrOverloaded, Status: 503, Message: "busy"}},
		"openai 400":      {OpenAI, status(400, openai("invalid_request_error", "x", "bad")), llm.Error{Kind: llm.ErrInvalid, Status: 400, Message: "bad"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.handler)
			_, _, err := ask(t, open(t, s, Options{Type: c.wire, APIKey: "secret"}), llm.Request{})
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			got := *e
			got.Err = nil
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if len(s.requests) != 1 {
				t.Errorf("asked %d times: retries belong to the loop", len(s.requests))
			}
		})
	}
}

func TestRetryAfterDate(t *testing.T) {
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if d := retryAfter(http.Header{"Retry-After": {at}}); d < 59*time.Minute || d > time.Hour {
		t.Errorf("%v", d)
	}
	if d := retryAfter(http.Header{"Retry-After": {"-5"}}); d != 0 {
		t.Errorf("%v", d)
	}
}

func TestNetworkErrors(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close() // before any header
		}
	})
	for _, wire := range []Type{Anthropic, OpenAICompatible} {
		_, _, err := ask(t, open(t, s, Options{Type: wire}), llm.Request{})
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrNetwork && e.Kind != llm.ErrTruncated || !e.Retryable() {
			t.Errorf("%s: %v", wire, err)
		}
	}
}

func TestPROV02SilenceEndsTheAnswer(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"silence":       hang(t, "anthropic/text.sse", "event: content_block_stop", ""),
		"pings":         hang(t, "anthropic/text.sse", "event: content_block_stop", "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
		"comments":      hang(t, "anthropic/text.sse", "event: content_block_stop", ": ping\n\n"),
		"no header":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"openai silent": hang(t, "openai/text.sse", "data: [DONE]", ""),
		"openai pings":  hang(t, "openai/text.sse", "data: [DONE]", ": OPENROUTER PROCESSING\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			wire := Anthropic
			if strings.HasPrefix(name, "openai") {
				wire = OpenAICompatible
			}
			p := open(t, serve(t, handler), Options{Type: wire, IdleTimeout: 150 * time.Millisecond})
			_, _, err := ask(t, p, llm.Request{})
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.ErrIdle || !e.Retryable() {
				t.Errorf("%v", err)
			}
		})
		t.Run(name+", aborted", func(t *testing.T) {
			wire := Anthropic
			if strings.HasPrefix(name, "openai") {
				wire = OpenAICompatible
			}
			p := open(t, serve(t, handler), Options{Type: wire})
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("the user pressed escape")
			timer := time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
			defer timer.Stop()
			start := time.Now()
			_, err := p.Stream(ctx, llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(llm.StreamEvent) {})
			if took := time.Since(start); !errors.Is(err, cause) || took > 30*time.Second {
				t.Errorf("%v after %v", err, took)
			}
		})
	}
}

// A slow listener is not the provider's silence.
func TestIdleDoesNotCountTheListener(t *testing.T) {
	p := open(t, serve(t, file(t, "anthropic/text.sse")), Options{Type: Anthropic, IdleTimeout: 100 * time.Millisecond})
	_, err := p.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(e llm.StreamEvent) {
		if e.Kind == llm.StreamTextDelta {
			<-time.After(150 * time.Millisecond)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPROV06LargeEvents(t *testing.T) {
	for _, size := range []int{70 << 10, 2 << 20} {
		arguments, err := json.Marshal(map[string]string{"content": strings.Repeat("é", size/2)})
		if err != nil {
			t.Fatal(err)
		}
		piece, err := json.Marshal(string(arguments))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := os.ReadFile("testdata/openai/stop-with-call.sse")
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Replace(string(stream), `"{\"path\":\"a\"}"`, string(piece), 1)
		m, _, err := ask(t, open(t, serve(t, sse(whole)), Options{Type: OpenAICompatible}), llm.Request{})
		if err != nil || len(m.ToolCalls()) != 1 || string(m.ToolCalls()[0].Arguments) != string(arguments) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func sse(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}
