package printer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/piremote/piremote/agent"
)

// JSON writes a run as one JSON object a line, separated by line feeds alone
// (hazard EVNT-07).
type JSON struct {
	mu sync.Mutex
	w  io.Writer
}

// NewJSON returns a printer that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{w: w} }

// Listen is an agent.Listener. A writer that fails ends the run.
func (p *JSON) Listen(_ context.Context, e agent.Event) error {
	line, err := agent.EventJSON(e)
	if err != nil {
		return err
	}
	return p.write(line)
}

// Record writes any other record.
func (p *JSON) Record(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.write(line)
}

func (p *JSON) write(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.w.Write(append(bytes.TrimRight(line, "\n"), '\n'))
	return err
}
