package store

import (
	"bytes"
	"encoding/json"
)

// redactStrings gives each string of a JSON value to redact, without its escapes,
// keys too, and puts what it returns in its place.
func redactStrings(value []byte, redact func([]byte) []byte) []byte {
	var out bytes.Buffer
	for len(value) > 0 {
		start := bytes.IndexByte(value, '"')
		if start < 0 {
			break
		}
		end := stringEnd(value, start)
		out.Write(value[:start])
		quoted := value[start:end]
		value = value[end:]
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			out.Write(quoted)
			continue
		}
		if clean := redact([]byte(text)); string(clean) != text {
			quoted = quote(string(clean))
		}
		out.Write(quoted)
	}
	out.Write(value)
	return out.Bytes()
}

// stringEnd is the index after the string that starts at a quotation mark.
func stringEnd(value []byte, start int) int {
	for i := start + 1; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(value)
}
