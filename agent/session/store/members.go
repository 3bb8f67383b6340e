package store

import (
	"bytes"
	"encoding/json"
	"errors"
)

// members is a JSON object with the order of its members.
type members []member

type member struct {
	key   string
	value json.RawMessage
}

func parseMembers(object []byte) (members, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("no JSON object"), err)
	}
	var list members
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: t.(string)} // the decoder takes nothing else for a key
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	_, err := d.Token()
	return list, err
}

func (m members) get(key string) json.RawMessage {
	for i := len(m) - 1; i >= 0; i-- { // the last of two counts
		if m[i].key == key {
			return m[i].value
		}
	}
	return nil
}

// set replaces a member or adds it; a nil value removes it.
func (m members) set(key string, value json.RawMessage) members {
	list, done := members{}, value == nil
	for _, one := range m {
		if one.key == key {
			if done {
				continue
			}
			one.value, done = value, true
		}
		list = append(list, one)
	}
	if !done {
		list = append(list, member{key, value})
	}
	return list
}

func (m members) bytes() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(one.key))
		b.WriteByte(':')
		b.Write(one.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quote(s string) json.RawMessage {
	data, _ := json.Marshal(s) // a string always has a JSON form
	return data
}
