package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what is decoded. A number must fit a float64, since that is how
// most readers take it.
const (
	maxDepth    = 200
	maxNumber   = 1000 // characters
	maxExponent = 400
)

// object is a JSON object in its order.
type object struct {
	keys   []string
	values map[string]any
}

// decode reads one JSON value as nil, bool, string, json.Number as it is
// written, []any or *object. It refuses keys that stand twice.
func decode(raw json.RawMessage) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("the JSON is not valid UTF-8")
	}
	if json.Valid(raw) {
		return (&parser{raw: raw}).value(0)
	}
	return explained(raw)
}

// explained reads a JSON value by tokens, which tells what is wrong with one.
func explained(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := decodeValue(d, 0)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the JSON ends early")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows behind the JSON value")
	}
	return value, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if n, ok := token.(json.Number); ok {
		if _, ok := float(n); !ok {
			return nil, fmt.Errorf("the number %s is out of range", shorten(n.String(), 40))
		}
		return n, nil
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			item, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	}
	o := &object{values: map[string]any{}}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("a key of an object is no string: %v", token)
		}
		if _, twice := o.values[key]; twice {
			return nil, fmt.Errorf("the key %s stands twice", strconv.Quote(shorten(key, 100)))
		}
		if o.values[key], err = decodeValue(d, depth+1); err != nil {
			return nil, err
		}
		o.keys = append(o.keys, key)
	}
	_, err = d.Token()
	return o, err
}

// float returns n as a float64, and whether n is in range.
func float(n json.Number) (float64, bool) {
	if len(n) > maxNumber {
		return 0, false
	}
	if _, exp, ok := strings.Cut(strings.ToLower(n.String()), "e"); ok {
		if e, err := strconv.Atoi(exp); err != nil || e > maxExponent || e < -maxExponent {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// encode writes a decoded value; strings stay as readable as they were.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := encodeValue(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func encodeValue(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encodeScalar(b, k); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := encodeValue(b, v.values[k]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encodeValue(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	return encodeScalar(b, v)
}

func encodeScalar(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case json.Number:
		b.WriteString(v.String())
		return nil
	case string:
		if plainText(v) {
			b.WriteByte('"')
			b.WriteString(v)
			b.WriteByte('"')
			return nil
		}
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends in a line feed
	return nil
}

// plainText reports whether s needs no escapes.
func plainText(s string) bool {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b > '~' || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}

// plainValue is a decoded value in the form that encoding/json gives it.
func plainValue(v any) any {
	switch v := v.(type) {
	case *object:
		m := make(map[string]any, len(v.keys))
		for _, k := range v.keys {
			m[k] = plainValue(v.values[k])
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plainValue(item)
		}
		return list
	case json.Number:
		f, _ := float(v) // in range since it was decoded
		return f
	}
	return v
}
