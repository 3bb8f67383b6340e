package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Violation is one way in which arguments don't fit.
type Violation struct {
	Path    string // dotted, such as edits.0.oldText; empty for the whole
	Message string
}

// ValidationError lists every violation, for the model to read.
type ValidationError struct {
	Tool       string
	Violations []Violation
	Received   json.RawMessage // as they came
}

// Bounds of an error's text.
const (
	receivedLimit  = 4096 // bytes of the received arguments
	violationLimit = 50   // violations
	messageLimit   = 500  // characters of one message
)

// Error returns the text for the model: the tool, a line for each violation, and
// what was received. The received arguments are cut to 4 KiB, the violations to
// the first 50.
func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Validation failed for tool %q:\n", e.Tool)
	for i, v := range e.Violations {
		if i == violationLimit {
			fmt.Fprintf(&b, "  - and %d more\n", len(e.Violations)-i)
			break
		}
		b.WriteString("  - ")
		if v.Path != "" {
			b.WriteString(v.Path + ": ")
		}
		b.WriteString(shorten(v.Message, messageLimit) + "\n")
	}
	b.WriteString("\nReceived arguments:\n")
	b.WriteString(received(e.Received))
	return b.String()
}

// received returns raw indented, and bounded however it is nested.
func received(raw json.RawMessage) string {
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return "{}"
	}
	cut := len(text)
	if json.Valid(raw) {
		text, cut = indent(text, receivedLimit)
	} else if len(text) > receivedLimit {
		text, cut = text[:receivedLimit], receivedLimit
	}
	text = strings.ToValidUTF8(text, "")
	if cut < len(strings.TrimSpace(string(raw))) {
		text += fmt.Sprintf("\n... (%d bytes in all)", len(raw))
	}
	return text
}

// indent spreads valid JSON over lines until the result has limit bytes. It
// returns how much of raw it took.
func indent(raw string, limit int) (text string, taken int) {
	var b strings.Builder
	depth, inString, empty := 0, false, false
	line := func() {
		b.WriteByte('\n')
		for range min(depth, limit) {
			b.WriteString("  ")
		}
	}
	i := 0
	for ; i < len(raw) && b.Len() < limit; i++ {
		c := raw[i]
		if inString {
			b.WriteByte(c)
			switch c {
			case '\\':
				i++
				b.WriteByte(raw[i])
			case '"':
				inString = false
			}
			continue
		}
		if strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		if empty && c != ']' && c != '}' {
			line()
		}
		wasEmpty := empty
		empty = false
		switch c {
		case '{', '[':
			b.WriteByte(c)
			depth++
			empty = true
		case '}', ']':
			depth--
			if !wasEmpty {
				line()
			}
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			line()
		case ':':
			b.WriteString(": ")
		default:
			inString = c == '"'
			b.WriteByte(c)
		}
	}
	text = b.String()
	if len(text) > limit && i < len(raw) {
		text = text[:limit]
	}
	return text, i
}

// shorten cuts s to limit characters on one line.
func shorten(s string, limit int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if limit--; limit < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
