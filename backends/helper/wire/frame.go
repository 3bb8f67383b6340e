package wire

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Version is the version of the protocol. Both sides must have the same one.
const Version = 1

// MaxPayload is the largest payload of a frame in bytes, before compression.
const MaxPayload = 1 << 20

// Type says what a frame is.
type Type byte

// The types of frames. Those of a request carry its number; the others carry 0.
const (
	TypeHello   Type = 'H' // client, first: Hello
	TypeWelcome Type = 'W' // server, first: Welcome, or TypeError
	TypePing    Type = 'p' // either: answered by TypePong
	TypePong    Type = 'P'
	TypeBye     Type = 'B' // client: end everything; the server answers with the same and closes

	TypeUpload Type = 'U' // client: Upload
	TypePart   Type = 'D' // client: Part

	TypeRequest Type = 'Q' // client: Request
	TypeCancel  Type = 'C' // client: end the request soon; its TypeResult or TypeError still comes
	TypeCredit  Type = 'K' // client: Credit
	TypeItem    Type = 'I' // server: something of what a request yields, of a form that its method defines
	TypeMore    Type = 'M' // server: the beginning of a result that is larger than a frame
	TypeResult  Type = 'R' // server, last of a request: the result, or its end
	TypeError   Type = 'E' // server, last of a request: Failure
)

// Frame is a unit of the stream.
type Frame struct {
	Type    Type
	Request uint32
	Payload []byte
}

// A frame's header: the length of the payload as it travels, the number of the
// request, the type, and flags. Numbers are little-endian.
const (
	headerSize     = 10
	flagCompressed = 1
	// compressFrom is the payload size from which it is tried to compress; small
	// ones gain nothing.
	compressFrom = 1 << 10
)

// ErrProtocol is in the chain of every error that the other side caused by
// breaking the protocol. The connection is of no use afterwards.
var ErrProtocol = errors.New("the other side broke the protocol")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// Reader reads frames. It is not safe for concurrent use.
type Reader struct {
	r      io.Reader
	header [headerSize]byte
	spare  []byte
	inflater
}

// NewReader returns a Reader on r, which should be buffered.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Read returns the next frame, whose payload the caller owns. The end of the
// stream between frames is io.EOF, within one io.ErrUnexpectedEOF.
func (r *Reader) Read() (Frame, error) {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return Frame{}, err
	}
	size := binary.LittleEndian.Uint32(r.header[0:])
	f := Frame{Request: binary.LittleEndian.Uint32(r.header[4:]), Type: Type(r.header[8])}
	flags := r.header[9]
	switch {
	case size > MaxPayload:
		return Frame{}, broken("a frame of %d bytes is larger than %d", size, MaxPayload)
	case flags&^flagCompressed != 0:
		return Frame{}, broken("a frame has unknown flags %#x", flags)
	}
	payload := r.spare
	if r.spare = nil; cap(payload) < int(size) {
		payload = make([]byte, size)
	}
	payload = payload[:size]
	if _, err := io.ReadFull(r.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	var err error
	if flags&flagCompressed != 0 {
		if payload, err = r.inflate(payload); err != nil {
			return Frame{}, err
		}
	}
	f.Payload = payload
	return f, nil
}

// Recycle gives the payload of a frame back that is not needed any more, for a
// later one.
func (r *Reader) Recycle(payload []byte) { r.spare = payload }

type inflater struct {
	source bytes.Reader
	flate  io.ReadCloser
}

func (i *inflater) inflate(b []byte) ([]byte, error) {
	i.source.Reset(b)
	if i.flate == nil {
		i.flate = flate.NewReader(&i.source)
	} else if err := i.flate.(flate.Resetter).Reset(&i.source, nil); err != nil { //nolint:forcetypeassert // of flate
		return nil, err
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(i.flate, MaxPayload+1)); err != nil {
		return nil, broken("a compressed frame is damaged: %v", err)
	}
	if out.Len() > MaxPayload {
		return nil, broken("a compressed frame holds more than %d bytes", MaxPayload)
	}
	return out.Bytes(), nil
}

// Writer writes frames. It may be used concurrently: each frame is whole.
type Writer struct {
	mu       sync.Mutex
	w        io.Writer
	compress bool
	speed    speed
	buf      []byte
	packed   bytes.Buffer
	deflater *flate.Writer
	err      error
}

// NewWriter returns a Writer on w, which gets one Write per frame.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, speed: speed{now: time.Now}} }

// Compress says whether frames may be compressed; they are not until then. While
// the stream takes more than a compressor makes, they are sent as they are.
func (w *Writer) Compress(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.compress = on
}

// Write writes a frame, compressed if that is allowed and helps. After an error every later call
// returns the same.
func (w *Writer) Write(f Frame) error {
	if len(f.Payload) > MaxPayload {
		return fmt.Errorf("a frame of %d bytes is larger than %d", len(f.Payload), MaxPayload)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	payload, flags := f.Payload, byte(0)
	if packed := w.pack(payload); packed != nil {
		payload, flags = packed, flagCompressed
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf[:0], uint32(len(payload))) //nolint:gosec // at most MaxPayload
	w.buf = binary.LittleEndian.AppendUint32(w.buf, f.Request)
	w.buf = append(w.buf, byte(f.Type), flags)
	w.buf = append(w.buf, payload...)
	begin := w.speed.now()
	_, w.err = w.w.Write(w.buf)
	w.speed.add(len(w.buf), w.speed.now().Sub(begin))
	return w.err
}

// pack compresses; nil if that does not help. Whether it may is judged by a
// sample, so that content which is compressed already costs little.
func (w *Writer) pack(b []byte) []byte {
	const sample = 4 << 10
	if !w.compress || len(b) < compressFrom || w.speed.fast() {
		return nil
	}
	if len(b) > 4*sample {
		middle := len(b) / 2
		if p := w.deflate(b[middle : middle+sample]); len(p) > sample*7/8 {
			return nil
		}
	}
	if p := w.deflate(b); len(p) < len(b)*7/8 {
		return p
	}
	return nil
}

func (w *Writer) deflate(b []byte) []byte {
	w.packed.Reset()
	if w.deflater == nil {
		w.deflater, _ = flate.NewWriter(&w.packed, flate.BestSpeed) // the level is valid
	} else {
		w.deflater.Reset(&w.packed)
	}
	_, _ = w.deflater.Write(b) // into memory
	_ = w.deflater.Close()
	return w.packed.Bytes()
}
