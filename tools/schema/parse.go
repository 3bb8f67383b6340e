package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// parser reads a JSON text that is known to be valid. What it can still refuse
// are the bounds and keys that stand twice.
type parser struct {
	raw []byte
	at  int
}

// space goes to the next byte that says something.
func (p *parser) space() byte {
	for {
		switch b := p.raw[p.at]; b {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return b
		}
	}
}

func (p *parser) value(depth int) (any, error) {
	first := p.space()
	if (first == '{' || first == '[') && depth == maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	switch first {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.text()
	case 't':
		p.at += len("true")
		return true, nil
	case 'f':
		p.at += len("false")
		return false, nil
	case 'n':
		p.at += len("null")
		return nil, nil
	}
	return p.number()
}

func (p *parser) object(depth int) (any, error) {
	o := &object{values: map[string]any{}}
	p.at++
	for p.space() != '}' {
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, twice := o.values[key]; twice {
			return nil, fmt.Errorf("the key %s stands twice", strconv.Quote(shorten(key, 100)))
		}
		p.space()
		p.at++ // the colon
		if o.values[key], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		o.keys = append(o.keys, key)
		if p.space() == ',' {
			p.at++
		}
	}
	p.at++
	return o, nil
}

func (p *parser) array(depth int) (any, error) {
	list := []any{}
	p.at++
	for p.space() != ']' {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
		if p.space() == ',' {
			p.at++
		}
	}
	p.at++
	return list, nil
}

func (p *parser) text() (string, error) {
	p.space()
	start, escaped := p.at, false
	for p.at++; p.raw[p.at] != '"'; p.at++ {
		if p.raw[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	if !escaped {
		return string(p.raw[start+1 : p.at-1]), nil
	}
	var s string
	err := json.Unmarshal(p.raw[start:p.at], &s)
	return s, err
}

func (p *parser) number() (any, error) {
	start := p.at
	for p.at < len(p.raw) {
		b := p.raw[p.at]
		if (b < '0' || b > '9') && b != '-' && b != '+' && b != '.' && b != 'e' && b != 'E' {
			break
		}
		p.at++
	}
	if p.at == start {
		return nil, errors.New("not valid JSON")
	}
	n := json.Number(p.raw[start:p.at])
	if _, ok := float(n); !ok {
		return nil, fmt.Errorf("the number %s is out of range", shorten(n.String(), 40))
	}
	return n, nil
}
