package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/piremote/piremote/agent/session"
)

// JSON writes a run as one JSON object a line, separated by line feeds alone
// (hazard EVNT-07). It is safe for concurrent use.
type JSON struct {
	mu     sync.Mutex
	w      io.Writer
	err    error
	failed func(error)
}

// NewJSON returns a printer that writes to w. A write that fails is told to failed,
// once, and nothing is written any more.
func NewJSON(w io.Writer, failed func(error)) *JSON { return &JSON{w: w, failed: failed} }

// Listen is a session.Listener.
func (p *JSON) Listen(e session.Event) {
	line, err := session.EventJSON(e)
	p.write(line, err)
}

// Record writes any other record.
func (p *JSON) Record(v any) {
	line, err := json.Marshal(v)
	p.write(line, err)
}

// Err is why something could not be written, or nil.
func (p *JSON) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *JSON) write(line []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	if err == nil {
		_, err = p.w.Write(append(line, '\n'))
	}
	if err != nil {
		p.err = fmt.Errorf("standard output: %w", err)
		p.failed(p.err)
	}
}
