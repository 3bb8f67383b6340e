package supervisor

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Kind says what a message means.
type Kind byte

// The messages to a supervisor, with their fields.
const (
	// KindStart asks an idle supervisor to run a program; see Start. Two
	// descriptors travel with it: the output, and the folder to run in; a third
	// becomes the program's descriptor 3.
	KindStart Kind = 's'
	// KindEnd asks to end the tree: milliseconds of grace.
	KindEnd Kind = 'e'
)

// The messages from a supervisor.
const (
	// KindStarted says that the program runs: process number, and its start as
	// in /proc/pid/stat.
	KindStarted Kind = 'S'
	// KindFailed says that it could not be started: errno.
	KindFailed Kind = 'F'
	// KindExit says that it has ended: the status as of wait(2), and "left" if
	// processes of its tree still live. Without that the supervisor is idle
	// again; with it, it goes when none lives any more, or at once if they are to
	// be kept.
	KindExit Kind = 'X'
	// KindEnded says what ending the tree did, once that is done: the number of
	// processes ended, why nobody could look (or empty), and the survivors.
	KindEnded Kind = 'E'
)

// Message is a unit of the channel: a byte of kind, four bytes with the length
// of the rest in little-endian order, and the fields, each followed by a NUL.
type Message struct {
	Kind   Kind
	Fields []string
}

const (
	headerSize = 5
	maxMessage = 64 << 20
)

// ErrMessage is the error of a message that can't be understood.
var ErrMessage = errors.New("a message of the supervisor's channel is malformed")

// Encode returns the bytes of the message. A field must hold no NUL.
func (m Message) Encode() []byte {
	size := 0
	for _, f := range m.Fields {
		size += len(f) + 1
	}
	b := make([]byte, headerSize, headerSize+size)
	b[0] = byte(m.Kind)
	binary.LittleEndian.PutUint32(b[1:], uint32(size))
	for _, f := range m.Fields {
		b = append(append(b, f...), 0)
	}
	return b
}

// Read reads one message. At the end of the channel it returns io.EOF.
func Read(r io.Reader) (Message, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Message{}, err
	}
	return readFields(header, r)
}

func readFields(header [headerSize]byte, r io.Reader) (Message, error) {
	m := Message{Kind: Kind(header[0])}
	size := binary.LittleEndian.Uint32(header[1:])
	if size > maxMessage {
		return m, ErrMessage
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return m, err
	}
	rest := string(body)
	for rest != "" {
		field, after, ok := strings.Cut(rest, "\x00")
		if !ok {
			return m, ErrMessage
		}
		m.Fields, rest = append(m.Fields, field), after
	}
	return m, nil
}

// Int returns field i as a number; one that is missing or none is zero.
func (m Message) Int(i int) int64 {
	n, _ := strconv.ParseInt(m.Text(i), 10, 64)
	return n
}

// Text returns field i; one that is missing is empty.
func (m Message) Text(i int) string {
	if i >= len(m.Fields) {
		return ""
	}
	return m.Fields[i]
}

// left is the field of KindExit that says so.
const left = "left"

// Left reports, of a KindExit, whether processes of the tree still live.
func (m Message) Left() bool { return m.Text(1) == left }

// Start is what a supervisor is asked to run.
type Start struct {
	// Marker is the "NAME=value" in Env by which the command's processes are
	// found.
	Marker string
	// Keep leaves alone what outlives the command. Otherwise the supervisor
	// stays until nothing does.
	Keep bool
	// Dir is the path of the folder to run in; empty means the descriptor that
	// travels along, which needs /proc.
	Dir     string
	Program string
	Args    []string // after the program's name
	Env     []string
}

const keep = "keep"

// Message returns the message that asks for it.
func (s Start) Message() Message {
	fields := []string{s.Marker, "", s.Dir, s.Program, strconv.Itoa(len(s.Args))}
	if s.Keep {
		fields[1] = keep
	}
	return Message{KindStart, append(append(fields, s.Args...), s.Env...)}
}

// start is the inverse of Start.Message.
func (m Message) start() (Start, error) {
	const fixed = 5
	n := m.Int(fixed - 1)
	if m.Kind != KindStart || n < 0 || int64(len(m.Fields)) < fixed || n > int64(len(m.Fields))-fixed {
		return Start{}, ErrMessage
	}
	return Start{
		Marker: m.Fields[0], Keep: m.Fields[1] == keep, Dir: m.Fields[2], Program: m.Fields[3],
		Args: m.Fields[fixed : fixed+n], Env: m.Fields[fixed+n:],
	}, nil
}
