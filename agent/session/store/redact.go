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
		if text, ok := unquote(quoted); ok {
			if clean := redact([]byte(text)); string(clean) != text {
				quoted = quote(string(clean))
			}
		}
		out.Write(quoted)
	}
	out.Write(value)
	return out.Bytes()
}

// unquote is the text of a JSON string.
func unquote(quoted []byte) (text string, ok bool) {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
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
