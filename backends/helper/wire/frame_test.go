package wire

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func randomBytes(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b) // never fails
	return b
}

func TestFramesSurviveTheStream(t *testing.T) {
	frames := []Frame{
		{Type: TypePing},
		{Type: TypeRequest, Request: 1<<32 - 1, Payload: []byte("x")},
		{Type: TypeItem, Request: 7, Payload: bytes.Repeat([]byte("text "), 20_000)},
		{Type: TypeResult, Request: 7, Payload: bytes.Repeat([]byte{0}, MaxPayload)},
		{Type: TypePart, Payload: randomBytes(MaxPayload)},
	}
	for _, compress := range []bool{false, true} {
		var stream bytes.Buffer
		w := NewWriter(&stream)
		w.Compress(compress)
		size := 0
		for _, f := range frames {
			if err := w.Write(f); err != nil {
				t.Fatal(err)
			}
			size += len(f.Payload)
		}
		if compress && stream.Len() > size/2+size/8 {
			t.Errorf("%d bytes for %d, of which half can be compressed", stream.Len(), size)
		}
		r := NewReader(iotestOneByte{&stream})
		for _, want := range frames {
			got, err := r.Read()
			if err != nil || got.Type != want.Type || got.Request != want.Request || !bytes.Equal(got.Payload, want.Payload) {
				t.Fatalf("%v, %q %d with %d bytes", err, byte(got.Type), got.Request, len(got.Payload))
			}
		}
		if _, err := r.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	}
}

// iotestOneByte gives little at once.
type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1000)]) }

func header(size, request uint32, kind Type, flags byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, size)
	b = binary.LittleEndian.AppendUint32(b, request)
	return append(b, byte(kind), flags)
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression) // the level is valid
	_, _ = w.Write(b)                                    // into memory
	_ = w.Close()
	return out.Bytes()
}

func TestMalformedFramesAreErrors(t *testing.T) {
	bomb := deflated(make([]byte, MaxPayload+1))
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"nothing":         {nil, io.EOF},
		"cut header":      {header(0, 0, TypePing, 0)[:9], io.ErrUnexpectedEOF},
		"cut payload":     {append(header(5, 0, TypePing, 0), "abcd"...), io.ErrUnexpectedEOF},
		"too large":       {header(MaxPayload+1, 0, TypePing, 0), ErrProtocol},
		"huge":            {header(1<<32-1, 0, TypePing, 0), ErrProtocol},
		"unknown flags":   {header(0, 0, TypePing, 2), ErrProtocol},
		"no deflate":      {append(header(4, 0, TypeItem, flagCompressed), 0xff, 0xff, 0xff, 0xff), ErrProtocol},
		"empty deflate":   {header(0, 0, TypeItem, flagCompressed), ErrProtocol},
		"compressed bomb": {append(header(uint32(len(bomb)), 0, TypeItem, flagCompressed), bomb...), ErrProtocol},
	} {
		if _, err := NewReader(bytes.NewReader(c.raw)).Read(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A length alone costs one frame at most, and within a frame nothing.
func TestClaimedLengthsAllocateLittle(t *testing.T) {
	list := binary.AppendUvarint(nil, 1<<40)
	for name, c := range map[string]struct {
		claim func()
		limit uint64
	}{
		"frame": {func() {
			_, _ = NewReader(strings.NewReader(string(header(MaxPayload, 0, TypePart, 0)) + "x")).Read()
		}, MaxPayload + 64<<10},
		"entries": {func() { _ = Decode(list, &Entries{}) }, 64 << 10},
		"path":    {func() { _ = Decode(list, &PathReply{}) }, 64 << 10},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			c.claim()
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / 100; n > c.limit {
			t.Errorf("%s: %d bytes for a claim", name, n)
		}
	}
}

// A payload that was given back is used again, and no other.
func TestRecycledPayloads(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	texts := []string{"first of them", "second", "the third is longer than the others", "4"}
	for _, text := range texts {
		if err := w.Write(Frame{Type: TypePart, Payload: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&stream)
	var kept Frame
	for i, text := range texts {
		f, err := r.Read()
		if err != nil || string(f.Payload) != text {
			t.Fatalf("%q, %v, want %q", f.Payload, err, text)
		}
		if i == 0 {
			kept = f
		} else {
			r.Recycle(f.Payload)
		}
	}
	if string(kept.Payload) != texts[0] {
		t.Errorf("a payload that is in use became %q", kept.Payload)
	}
}

func TestWriterKeepsItsError(t *testing.T) {
	w := NewWriter(brokenPipe{})
	for range 2 {
		if err := w.Write(Frame{Type: TypePing}); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
	if err := w.Write(Frame{Payload: make([]byte, MaxPayload+1)}); err == nil {
		t.Error("a frame that nobody may read")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// What is read can be written, and is the same when it is read again; nothing
// makes a reader panic or take more than a frame may hold.
func FuzzReader(f *testing.F) {
	f.Add(header(0, 1, TypePing, 0))
	f.Add(append(header(1, 2, TypeItem, 0), 'x'))
	packed := deflated([]byte(strings.Repeat("abc", 1000)))
	f.Add(append(header(uint32(len(packed)), 3, TypeResult, flagCompressed), packed...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := NewReader(bytes.NewReader(raw))
		for {
			frame, err := r.Read()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrProtocol) {
					t.Fatalf("%v", err)
				}
				return
			}
			if len(frame.Payload) > MaxPayload {
				t.Fatalf("%d bytes", len(frame.Payload))
			}
			var again bytes.Buffer
			w := NewWriter(&again)
			w.Compress(true)
			if err := w.Write(frame); err != nil {
				t.Fatal(err)
			}
			got, err := NewReader(&again).Read()
			if diff := cmp.Diff(frame, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Fatalf("%v\n%s", err, diff)
			}
		}
	})
}
