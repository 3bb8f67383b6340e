package rpc

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/piremote/piremote/agent/session"
)

// dialogs are the questions that wait for the client's answer, by id.
type dialogs struct {
	mu      sync.Mutex
	waiting map[string]chan session.Answer
	ended   bool
}

// ask sends a question as an extension_ui_request and waits for the response.
func (s *server) ask(ctx context.Context, d session.Dialog) (session.Answer, error) {
	id := rand.Text()
	answer := make(chan session.Answer, 1)
	if !s.dialogs.wait(id, answer) {
		return session.Answer{Cancelled: true}, session.ErrNobodyToAsk
	}
	defer s.dialogs.forget(id)
	s.out.record(request(id, d))
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return session.Answer{Cancelled: true}, context.Cause(ctx)
	}
}

func request(id string, d session.Dialog) object {
	o := object{"type": "extension_ui_request", "id": id, "method": string(d.Kind), "title": d.Title}
	switch d.Kind {
	case session.DialogSelect:
		o["options"] = d.Options
	case session.DialogConfirm:
		o["message"] = d.Message
	case session.DialogInput:
		if d.Preset != "" {
			o["placeholder"] = d.Preset
		}
	case session.DialogEditor:
		if d.Preset != "" {
			o["prefill"] = d.Preset
		}
	}
	if d.Timeout > 0 {
		o["timeout"] = d.Timeout.Milliseconds()
	}
	return o
}

func (d *dialogs) wait(id string, answer chan session.Answer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return false
	}
	if d.waiting == nil {
		d.waiting = map[string]chan session.Answer{}
	}
	d.waiting[id] = answer
	return true
}

func (d *dialogs) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, id)
}

// answer gives a question its answer; one that nobody waits for any more is
// dropped.
func (d *dialogs) answer(c command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer := d.waiting[c.id()]; answer != nil {
		delete(d.waiting, c.id())
		answer <- session.Answer{Value: c.Value, Confirmed: c.Confirmed, Cancelled: c.Cancelled}
	}
}

// cancel answers every question with nothing, also later ones.
func (d *dialogs) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	for id, answer := range d.waiting {
		answer <- session.Answer{Cancelled: true}
		delete(d.waiting, id)
	}
}
