package wire

import (
	"encoding/binary"
	"slices"
	"time"
)

// Message is something that travels in a payload. Its fields are listed once,
// for both directions.
type Message interface{ fields(c *codec) }

// Encode returns the bytes of m.
func Encode(m Message) []byte { return Append(nil, m) }

// Append appends the bytes of m to b.
func Append(b []byte, m Message) []byte {
	c := &codec{buf: b}
	m.fields(c)
	return c.buf
}

// Body is the bytes of a message in pieces: large ones are those of the message
// itself, which must not change while the body is in use.
type Body struct {
	pieces [][]byte
	size   int
}

// largeField is the size in bytes from which a field is a piece of its own.
const largeField = 64 << 10

// EncodeBody is Encode without copying what is large.
func EncodeBody(m Message) *Body {
	c := &codec{gather: new(Body)}
	m.fields(c)
	c.gather.add(c.buf)
	return c.gather
}

func (b *Body) add(piece []byte) {
	b.pieces = append(b.pieces, piece)
	b.size += len(piece)
}

// Len returns the number of bytes.
func (b *Body) Len() int { return b.size }

// AppendRange appends the bytes from an offset up to another one, or to the end.
func (b *Body) AppendRange(to []byte, from, until int) []byte {
	for _, p := range b.pieces {
		if from < len(p) && until > 0 {
			to = append(to, p[max(from, 0):min(until, len(p))]...)
		}
		from, until = from-len(p), until-len(p)
	}
	return to
}

// Decode reads m from b, which must hold it and nothing else. What m holds does
// not share memory with b unless it says so. The error is an ErrProtocol.
func Decode(b []byte, m Message) error {
	c := &codec{buf: b, decoding: true}
	m.fields(c)
	if !c.bad && len(c.buf) > 0 {
		c.bad = true
	}
	if c.bad {
		return broken("a message can't be decoded as %T", m)
	}
	return nil
}

// codec moves fields from or to bytes: numbers as varints, texts and lists with
// their length before them. Once something is wrong, everything is zero. Encoding
// only reads: messages under way may share what they hold.
type codec struct {
	buf      []byte
	gather   *Body // takes what is encoded; nil: buf does
	decoding bool
	bad      bool
}

func (c *codec) fail() { c.bad, c.buf = true, nil }

func (c *codec) uint64(v *uint64) {
	if !c.decoding {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	n, used := binary.Uvarint(c.buf)
	if used <= 0 {
		c.fail()
		n, used = 0, 0
	}
	*v, c.buf = n, c.buf[used:]
}

func (c *codec) int64(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63) //nolint:gosec // zigzag
	c.uint64(&u)
	if c.decoding {
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

func (c *codec) int(v *int) {
	n := int64(*v)
	c.int64(&n)
	if c.decoding {
		*v = int(n)
	}
}

func (c *codec) uint32(v *uint32) {
	n := uint64(*v)
	c.uint64(&n)
	if n > 1<<32-1 {
		c.fail()
		n = 0
	}
	if c.decoding {
		*v = uint32(n)
	}
}

func (c *codec) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	c.uint64(&n)
	if n > 1 {
		c.fail()
	}
	if c.decoding {
		*v = n == 1
	}
}

func (c *codec) duration(v *time.Duration) { c.int64((*int64)(v)) }

// time has the precision of nanoseconds and no place; the zero time stays one.
func (c *codec) time(v *time.Time) {
	var sec, nsec int64
	if !v.IsZero() {
		sec, nsec = v.Unix(), int64(v.Nanosecond())
	}
	set := !v.IsZero()
	c.bool(&set)
	if set {
		c.int64(&sec)
		c.int64(&nsec)
	}
	switch {
	case !c.decoding:
	case set:
		*v = time.Unix(sec, nsec)
	default:
		*v = time.Time{}
	}
}

// length moves the length of something whose elements take at least a byte each.
func (c *codec) length(n int) int {
	u := uint64(n) //nolint:gosec // a length
	c.uint64(&u)
	if c.decoding && u > uint64(len(c.buf)) {
		c.fail()
		u = 0
	}
	return int(u)
}

func (c *codec) string(v *string) {
	n := c.length(len(*v))
	if !c.decoding {
		c.buf = append(c.buf, *v...)
		return
	}
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
}

// bytes is data that is not copied when it is decoded.
func (c *codec) bytes(v *[]byte) {
	n := c.length(len(*v))
	switch {
	case c.decoding:
		*v, c.buf = c.buf[:n:n], c.buf[n:]
	case c.gather != nil && n >= largeField:
		c.gather.add(c.buf)
		c.gather.add(*v)
		c.buf = nil
	default:
		c.buf = append(c.buf, *v...)
	}
}

// list moves the elements of a slice. An empty one is decoded as nil.
func list[T any](c *codec, v *[]T, one func(*T)) {
	n := c.length(len(*v))
	if !c.decoding {
		for i := range *v {
			one(&(*v)[i])
		}
		return
	}
	*v = nil
	for range n {
		var e T
		if one(&e); c.bad {
			*v = nil
			return
		}
		*v = append(*v, e)
	}
}

func (c *codec) strings(v *[]string) { list(c, v, c.string) }

// pairs is a map, sorted by its keys.
func (c *codec) pairs(v *map[string]string) {
	type pair struct{ key, value string }
	var all []pair
	for k, s := range *v {
		all = append(all, pair{k, s})
	}
	slices.SortFunc(all, func(a, b pair) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	list(c, &all, func(p *pair) { c.string(&p.key); c.string(&p.value) })
	if !c.decoding {
		return
	}
	*v = nil
	if len(all) > 0 {
		*v = make(map[string]string, len(all))
		for _, p := range all {
			(*v)[p.key] = p.value
		}
	}
}

func text[T ~string](c *codec, v *T) {
	s := string(*v)
	c.string(&s)
	if c.decoding {
		*v = T(s)
	}
}
