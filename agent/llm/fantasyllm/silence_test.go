package fantasyllm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/agent/llm"
)

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
