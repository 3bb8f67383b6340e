package llm

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Builder assembles a streamed answer and emits its events. Blocks are known by
// keys of the provider's, so deltas may interleave. It is not safe for
// concurrent use.
type Builder struct {
	emit    func(StreamEvent)
	message *Assistant
	open    map[string]int // index of the block by key
	calls   map[int][]byte // arguments that grow, by index
	ids     map[string]bool
}

// NewBuilder starts an answer and emits StreamStart.
func NewBuilder(provider, model string, timestamp int64, emit func(StreamEvent)) *Builder {
	b := &Builder{
		emit:    emit,
		message: &Assistant{Provider: provider, Model: model, Timestamp: timestamp},
		open:    map[string]int{}, calls: map[int][]byte{}, ids: map[string]bool{},
	}
	b.send(StreamEvent{Kind: StreamStart})
	return b
}

func (b *Builder) send(e StreamEvent) {
	partial := *b.message
	partial.Content = slices.Clone(b.message.Content)
	e.Partial = &partial
	b.emit(e)
}

func (b *Builder) add(key string, block Block) int {
	b.message.Content = append(b.message.Content, block)
	i := len(b.message.Content) - 1
	b.open[key] = i
	return i
}

// Text adds prose to the block of that key, opening it if need be.
func (b *Builder) Text(key, delta string) {
	key = "text " + key
	i, ok := b.open[key]
	if !ok {
		i = b.add(key, &Text{})
		b.send(StreamEvent{Kind: StreamTextStart, ContentIndex: i})
	}
	if t, ok := b.message.Content[i].(*Text); ok && delta != "" {
		b.message.Content[i] = &Text{Text: t.Text + delta}
		b.send(StreamEvent{Kind: StreamTextDelta, ContentIndex: i, Delta: delta})
	}
}

// TextEnd closes a block of prose.
func (b *Builder) TextEnd(key string) {
	key = "text " + key
	if i, ok := b.open[key]; ok {
		delete(b.open, key)
		if t, ok := b.message.Content[i].(*Text); ok {
			b.send(StreamEvent{Kind: StreamTextEnd, ContentIndex: i, Content: t.Text})
		}
	}
}

// Thinking adds reasoning to the block of that key, opening it if need be.
func (b *Builder) Thinking(key, delta string) {
	key = "thinking " + key
	i, ok := b.open[key]
	if !ok {
		i = b.add(key, &Thinking{})
		b.send(StreamEvent{Kind: StreamThinkingStart, ContentIndex: i})
	}
	if t, ok := b.message.Content[i].(*Thinking); ok && delta != "" {
		b.message.Content[i] = &Thinking{Text: t.Text + delta, Signature: t.Signature, Redacted: t.Redacted}
		b.send(StreamEvent{Kind: StreamThinkingDelta, ContentIndex: i, Delta: delta})
	}
}

// ThinkingEnd closes a block of reasoning.
func (b *Builder) ThinkingEnd(key, signature string, redacted bool) {
	key = "thinking " + key
	if i, ok := b.open[key]; ok {
		delete(b.open, key)
		if t, ok := b.message.Content[i].(*Thinking); ok {
			b.message.Content[i] = &Thinking{Text: t.Text, Signature: signature, Redacted: redacted}
			b.send(StreamEvent{Kind: StreamThinkingEnd, ContentIndex: i, Content: t.Text})
		}
	}
}

// ToolCallStart opens a call. An id that was used before in this answer, or
// none, is replaced by one that is unique (hazard PROV-03).
func (b *Builder) ToolCallStart(key, id, name string) {
	for base, n := id, 2; id == "" || b.ids[id]; n++ {
		id = fmt.Sprintf("%s_%d", orCall(base), n)
	}
	b.ids[id] = true
	i := b.add("call "+key, &ToolCall{ID: id, Name: name})
	b.send(StreamEvent{Kind: StreamToolCallStart, ContentIndex: i})
}

func orCall(id string) string {
	if id == "" {
		return "call"
	}
	return id
}

// ToolCallDelta adds to the arguments of a call.
func (b *Builder) ToolCallDelta(key, delta string) {
	i, ok := b.open["call "+key]
	if !ok || delta == "" {
		return
	}
	b.calls[i] = append(b.calls[i], delta...)
	b.send(StreamEvent{Kind: StreamToolCallDelta, ContentIndex: i, Delta: delta})
}

// ToolCallEnd closes a call. Arguments replace what the deltas made, unless they
// are empty.
func (b *Builder) ToolCallEnd(key, arguments string) {
	key = "call " + key
	i, ok := b.open[key]
	if !ok {
		return
	}
	delete(b.open, key)
	if arguments != "" {
		b.calls[i] = []byte(arguments)
	}
	if c, ok := b.message.Content[i].(*ToolCall); ok {
		done := &ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(b.calls[i])}
		if len(done.Arguments) == 0 {
			done.Arguments = json.RawMessage("{}")
		}
		b.message.Content[i] = done
		b.send(StreamEvent{Kind: StreamToolCallEnd, ContentIndex: i, ToolCall: done})
	}
}

// Open reports whether a block has begun and not ended.
func (b *Builder) Open() bool { return len(b.open) > 0 }

// Message is the answer so far. Calls that are still open have what came of
// their arguments.
func (b *Builder) Message() *Assistant {
	for _, i := range b.open {
		if c, ok := b.message.Content[i].(*ToolCall); ok {
			b.message.Content[i] = &ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(b.calls[i])}
		}
	}
	return b.message
}
