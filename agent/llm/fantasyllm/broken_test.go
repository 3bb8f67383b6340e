package fantasyllm

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/llm"
)

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
