package store

import (
	"encoding/json"
	"strconv"
)

// migrate makes lines of version 3 of those of an older version. Version 1 was a
// list: its entries get ids, and the one before as parent; a compaction named its
// first kept entry by its place in the list, where the header is the first. Before
// version 3 custom messages had the role hookMessage. Lines that hold no JSON stay.
func migrate(lines [][]byte, version int, newID func() string) [][]byte {
	objects := make([]members, len(lines))
	var places []int // of what holds JSON
	for i, line := range lines {
		if m, err := parseMembers(line); err == nil {
			objects[i], places = m, append(places, i)
		}
	}
	if version < 2 {
		link(objects, places, newID)
	}
	out := make([][]byte, len(lines))
	for i, m := range objects {
		switch {
		case m == nil:
			out[i] = lines[i]
			continue
		case text(m, "type") == "session":
			m = m.set("version", json.RawMessage(strconv.Itoa(Version)))
		case text(m, "type") == "message":
			message, err := parseMembers(m.get("message"))
			if err == nil && text(message, "role") == "hookMessage" {
				m = m.set("message", message.set("role", quote("custom")).bytes())
			}
		}
		out[i] = m.bytes()
	}
	return out
}

// link gives the entries of version 1 their ids and parents.
func link(objects []members, places []int, newID func() string) {
	ids, parent := map[string]bool{}, json.RawMessage("null")
	for _, i := range places {
		if text(objects[i], "type") == "session" {
			continue
		}
		id := newID()
		for ids[id] {
			id = newID()
		}
		ids[id] = true
		objects[i] = objects[i].set("id", quote(id)).set("parentId", parent)
		parent = quote(id)
	}
	for _, i := range places {
		m := objects[i]
		n, err := strconv.Atoi(string(m.get("firstKeptEntryIndex")))
		if text(m, "type") != "compaction" || err != nil {
			continue
		}
		m = m.set("firstKeptEntryIndex", nil)
		if n >= 0 && n < len(places) && text(objects[places[n]], "type") != "session" {
			m = m.set("firstKeptEntryId", objects[places[n]].get("id"))
		}
		objects[i] = m
	}
}

// text is the string that a member is, or empty.
func text(m members, key string) string {
	var s string
	_ = json.Unmarshal(m.get(key), &s)
	return s
}
