//go:build linux

package server

import (
	"context"
	"sync"

	"github.com/piremote/piremote/backends/helper/wire"
)

// call is a request under way.
type call struct {
	conn   *conn
	id     uint32
	ctx    context.Context //nolint:containedctx // the request's, which lives as long as this
	cancel context.CancelFunc
	req    wire.Request

	mu      sync.Mutex
	window  int64 // bytes of items that may still be sent
	taken   int64 // bytes of items that the client has taken
	changed chan struct{}
}

func newCall(ctx context.Context, c *conn, id uint32, req wire.Request) *call {
	k := &call{conn: c, id: id, req: req, window: int64(req.Window), changed: make(chan struct{}, 1)}
	k.ctx, k.cancel = context.WithCancel(ctx)
	return k
}

// method does the work of a request and returns the result.
type method func(k *call, body []byte) (wire.Message, error)

// run does the work and sends how it ended.
func (k *call) run(m method) {
	var result wire.Message
	body, err := k.body()
	if err == nil {
		result, err = m(k, body)
	} else {
		err = k.unchanged(err)
	}
	k.conn.finish(k.id)
	if err != nil {
		k.conn.send(wire.Frame{Type: wire.TypeError, Request: k.id, Payload: wire.Encode(wire.FailureOf(err))})
		return
	}
	var payload []byte
	if result != nil {
		payload = wire.Encode(result)
	}
	for len(payload) > wire.MaxPayload {
		k.conn.send(wire.Frame{Type: wire.TypeMore, Request: k.id, Payload: payload[:wire.MaxPayload]})
		payload = payload[wire.MaxPayload:]
	}
	k.conn.send(wire.Frame{Type: wire.TypeResult, Request: k.id, Payload: payload})
}

// body is the message of the request, which may have been uploaded. Who has gone
// uploads no more, also for a change, which is to run to its end once it has begun.
func (k *call) body() ([]byte, error) {
	if k.req.Upload == 0 {
		return k.req.Body, nil
	}
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	defer context.AfterFunc(k.conn.ctx, cancel)()
	return k.conn.session.uploads.take(ctx, k.req.Upload)
}

// credit lets more items be sent.
func (k *call) credit(n int64) {
	k.mu.Lock()
	k.window += n
	k.taken += n
	k.mu.Unlock()
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// room returns how many bytes of items may be sent, and how many the client has
// taken.
func (k *call) room() (window, taken int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.window, k.taken
}

// item sends an item as soon as the client has room for it. Any room does: what an
// item takes too much is missing later.
func (k *call) item(m wire.Message) error {
	payload := wire.Encode(m)
	if err := k.waitForRoom(); err != nil {
		return err
	}
	k.sendItem(payload)
	return nil
}

func (k *call) waitForRoom() error {
	for {
		if window, _ := k.room(); window > 0 {
			return nil
		}
		select {
		case <-k.changed:
		case <-k.ctx.Done():
			return k.ctx.Err()
		}
	}
}

func (k *call) sendItem(payload []byte) {
	k.mu.Lock()
	k.window -= int64(len(payload))
	k.mu.Unlock()
	k.conn.send(wire.Frame{Type: wire.TypeItem, Request: k.id, Payload: payload})
}

// with decodes a request's message for a method.
func with[T any, P interface {
	*T
	wire.Message
}](fn func(k *call, m *T) (wire.Message, error)) method {
	return func(k *call, body []byte) (wire.Message, error) {
		m := new(T)
		if err := wire.Decode(body, P(m)); err != nil {
			return nil, k.unchanged(err)
		}
		return fn(k, m)
	}
}
