package store

import (
	"encoding/json"

	"github.com/piremote/piremote/agent/llm"
)

// Context is what a conversation is at an entry.
type Context struct {
	// Items are the messages on the way to the entry, after compaction and edits,
	// in order.
	Items []Item
	// Messages are what a model gets to see of them. Each call of a tool has exactly
	// one result, right after the answer that holds it, in the order of the calls.
	Messages []llm.Message
	// Recovered are the ids of calls whose results were made from stored outcomes;
	// Unknown are those of calls of which nobody knows what they did.
	Recovered, Unknown []string
	// Model is the last that was chosen or answered; empty if there was none.
	Model ModelRef
	// Thinking is the level that was chosen last; "off" if none was.
	Thinking string
}

// ModelRef names a model.
type ModelRef struct {
	Provider string `json:"provider"`
	ID       string `json:"modelId"`
}

// Item is a message in a context, with the entry that it comes from. Its JSON is
// that of the message, with what is not known here.
type Item struct {
	Entry  Entry
	Record llm.Record
	json   json.RawMessage
}

// MarshalJSON writes the message.
func (i Item) MarshalJSON() ([]byte, error) {
	if i.json != nil {
		return i.json, nil
	}
	return json.Marshal(i.Record)
}

// Context returns what the conversation is at an entry; an empty id is before all
// entries. It is meant for the rest between runs: the results of calls that are
// running now are unknown to it.
func (l *Log) Context(leaf string) (Context, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if leaf != "" {
		if _, err := l.at(leaf); err != nil {
			return Context{}, err
		}
	}
	way := l.branch(leaf)
	c := Context{Thinking: "off"}
	for _, e := range way {
		switch e := e.(type) {
		case ThinkingLevelChange:
			c.Thinking = e.ThinkingLevel
		case ModelChange:
			c.Model = ModelRef{e.Provider, e.ModelID}
		case Message:
			if m, ok := e.Message.(*llm.Assistant); ok {
				c.Model = ModelRef{m.Provider, m.Model}
			}
		case Usage, Compaction, ContextEdit, BranchSummary, Custom, CustomMessage, Label, SessionInfo, Unknown:
		}
	}
	parts, err := project(Selected(way))
	if err != nil {
		return c, err
	}
	for _, p := range parts {
		c.Items = append(c.Items, p.items...)
	}
	c.settle(parts)
	return c, nil
}

// Selected is what of the way to an entry counts: all of it, or, after a
// compaction, the last compaction, then the entries that it kept, then those after
// it. System messages before it are in the compaction.
func Selected(way []Entry) []Entry {
	last := -1
	for i, e := range way {
		if _, ok := e.(Compaction); ok {
			last = i
		}
	}
	if last < 0 {
		return way
	}
	compaction := way[last].(Compaction)
	list, kept := []Entry{compaction}, false
	for _, e := range way[:last] {
		kept = kept || e.Meta().ID == compaction.FirstKeptID
		if kept && !isSystem(e) {
			list = append(list, e)
		}
	}
	return append(list, way[last+1:]...)
}

func isSystem(e Entry) bool {
	m, ok := e.(Message)
	if !ok {
		return false
	}
	o, ok := m.Message.(*llm.Other)
	return ok && o.Role == "system"
}

// part is an entry with the messages that it gives.
type part struct {
	entry Entry
	items []Item
}

// project makes messages of selected entries, as their edits want them.
func project(entries []Entry) ([]part, error) {
	edits := map[string]ContextEdit{}
	for _, e := range entries {
		if e, ok := e.(ContextEdit); ok {
			edits[e.TargetID] = e
		}
	}
	parts := make([]part, 0, len(entries))
	for i, e := range entries {
		if _, ok := e.(Compaction); ok && i > 0 {
			continue // an older one, among what the last one kept
		}
		items, err := itemsOf(e)
		if err != nil {
			return nil, err
		}
		if edit, ok := edits[e.Meta().ID]; ok {
			if items, err = edit.apply(items); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part{e, items})
	}
	return parts, nil
}

// itemsOf makes messages of an entry.
func itemsOf(e Entry) ([]Item, error) {
	ms := e.Meta().Time.UnixMilli()
	switch e := e.(type) {
	case Message:
		data, err := messageJSON(e)
		return []Item{{e, e.Message, data}}, err
	case CustomMessage:
		return customItem(e)
	case BranchSummary:
		if e.Summary != "" {
			return []Item{{e, &llm.BranchSummary{Summary: e.Summary, FromID: e.FromID, Timestamp: ms}, nil}}, nil
		}
	case Compaction:
		items := []Item{{e, &llm.CompactionSummary{Summary: e.Summary, TokensBefore: e.TokensBefore, Timestamp: ms}, nil}}
		if len(e.SystemMessage) > 0 && string(e.SystemMessage) != "null" {
			items = append([]Item{{e, &llm.Other{Role: "system", JSON: e.SystemMessage}, nil}}, items...)
		}
		return items, nil
	case ModelChange, ThinkingLevelChange, Usage, ContextEdit, Custom, Label, SessionInfo, Unknown:
	}
	return nil, nil
}

// messageJSON is a message as it was read; nil for one that was made here.
func messageJSON(e Message) (json.RawMessage, error) {
	if e.line == nil {
		return nil, nil
	}
	line, err := parseMembers(e.line)
	if err != nil {
		return nil, err
	}
	data := line.get("message")
	m, err := parseMembers(data)
	if content := m.get("content"); err != nil || content != nil && string(content) != "null" {
		return data, err
	}
	switch text(m, "role") {
	case "system":
		return m.set("content", json.RawMessage(`""`)).bytes(), nil
	case "user", "assistant", "toolResult":
		return m.set("content", json.RawMessage(`[]`)).bytes(), nil
	}
	return data, nil
}

func customItem(e CustomMessage) ([]Item, error) {
	content := e.Content
	if len(content) == 0 || string(content) == "null" {
		content = json.RawMessage(`[]`)
	}
	list, err := llm.UnmarshalContent(content)
	if err != nil {
		return nil, err
	}
	c := &llm.Custom{CustomType: e.CustomType, Content: list, Display: e.Display, Details: e.Details, Timestamp: e.Time.UnixMilli()}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	m, err := parseMembers(data)
	return []Item{{e, c, m.set("content", content).bytes()}}, err
}

// apply is what is left of messages after an edit.
func (c ContextEdit) apply(items []Item) ([]Item, error) {
	if string(c.Replacement) == "null" {
		return nil, nil
	}
	replacement, err := parseMembers(c.Replacement)
	if err != nil {
		return nil, err
	}
	content := replacement.get("content")
	var edited []Item
	for _, i := range items {
		data, err := json.Marshal(i)
		if err != nil {
			return nil, err
		}
		m, err := parseMembers(data)
		if err != nil {
			return nil, err
		}
		switch text(m, "role") {
		case "assistant", "toolResult":
			if len(content) > 0 && content[0] == '"' {
				content = json.RawMessage(`[{"type":"text","text":` + string(content) + `}]`)
			}
		case "user", "custom":
		default:
			edited = append(edited, i)
			continue
		}
		i.json = m.set("content", content).bytes()
		if i.Record, err = llm.UnmarshalRecord(i.json); err != nil {
			return nil, err
		}
		edited = append(edited, i)
	}
	return edited, nil
}
