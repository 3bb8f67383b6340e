package schema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// hasType reports whether a decoded value is of a JSON schema type.
func hasType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case *object:
		return t == "object"
	case json.Number:
		if t == "integer" {
			// An integer is written as one, so that every decoder takes it.
			return !strings.ContainsAny(v.String(), ".eE")
		}
		return t == "number"
	}
	return false
}

// normalize writes an integer such as 1.0 or 1e2 as one. It is the same number.
func normalize(v any, types []string) (any, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	for _, t := range types {
		if t != "integer" {
			continue
		}
		if r, ok := rational(n); ok && r.IsInt() {
			return json.Number(r.Num().String()), true
		}
	}
	return nil, false
}

// convert turns a primitive into the first of types that holds it without loss.
func convert(v any, types []string) (any, bool) {
	for _, t := range types {
		switch v := v.(type) {
		case string:
			if out, ok := fromString(v, t); ok {
				return out, true
			}
		case bool:
			if t == "string" {
				return strconv.FormatBool(v), true
			}
		case json.Number:
			if t == "string" {
				return v.String(), true
			}
		}
	}
	return nil, false
}

func fromString(s, t string) (any, bool) {
	switch t {
	case "boolean":
		return s == "true", s == "true" || s == "false"
	case "null":
		return nil, s == ""
	case "number", "integer":
		text := strings.TrimSpace(s)
		if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
			return nil, false
		}
		n := json.Number(text)
		if _, ok := float(n); !ok {
			return nil, false
		}
		if hasType(n, t) {
			return n, true
		}
		return normalize(n, []string{t})
	}
	return nil, false
}

// rational returns n exactly, if it is in range.
func rational(n json.Number) (*big.Rat, bool) {
	if _, ok := float(n); !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// same reports whether two decoded values are equal JSON.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, ok1 := rational(a)
		y, ok2 := rational(b)
		return ok1 && ok2 && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case *object:
		b, ok := b.(*object)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for _, k := range a.keys {
			if other, ok := b.values[k]; !ok || !same(a.values[k], other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, *object:
		return false
	}
	return a == b
}

// sameAsSchema compares a decoded value with a constant of a schema, which
// encoding/json decoded.
func sameAsSchema(constant, v any) bool {
	raw, err := json.Marshal(constant)
	if err != nil {
		return false
	}
	c, err := decode(raw)
	return err == nil && same(c, v)
}
