package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/docker/docker/pkg/stdcopy"
)

// frame is one frame as a daemon sends it.
func frame(stream byte, payload string) string {
	header := make([]byte, 8)
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(payload)))
	return string(header) + payload
}

func split(r io.Reader) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	err = demultiplex(r, func(p []byte) { out.Write(p) }, func(p []byte) { errs.Write(p) })
	return out.String(), errs.String(), err
}

func TestDKX05FramesAreExact(t *testing.T) {
	header := "\x01\x00\x00\x00\x00\x00\x00\x05" // as payload
	stream := frame(1, "one\x00") + frame(2, "warning\r\n") + frame(1, "") + frame(1, header) + frame(0, "in") + frame(1, strings.Repeat("x", 100_000))
	wantOut, wantErr := "one\x00"+header+"in"+strings.Repeat("x", 100_000), "warning\r\n"
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(stream), "halves": iotest.HalfReader(strings.NewReader(stream)),
		"with the end": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		if out, errs, err := split(r); out != wantOut || errs != wantErr || err != nil {
			t.Errorf("%s: %d and %d bytes, %v", name, len(out), len(errs), err)
		}
	}
	short := frame(1, "ab") + frame(2, "c") + frame(1, "d")
	for cut := range len(short) {
		r := io.MultiReader(strings.NewReader(short[:cut]), iotest.OneByteReader(strings.NewReader(short[cut:])))
		if out, errs, err := split(r); out != "abd" || errs != "c" || err != nil {
			t.Errorf("cut at %d: %q, %q, %v", cut, out, errs, err)
		}
	}
}

func TestDKX05BadStreamsAreErrors(t *testing.T) {
	good := frame(1, "good")
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		stream io.Reader
		want   error
	}{
		{"raw text", strings.NewReader(good + "hello, this is no frame"), errFrame},
		{"unknown stream", strings.NewReader(good + frame(4, "x")), errFrame},
		{"third byte", strings.NewReader(good + "\x01\x00\x01\x00\x00\x00\x00\x01x"), errFrame},
		{"2^31", io.MultiReader(strings.NewReader(good+"\x01\x00\x00\x00\x80\x00\x00\x00"), neverEnding{}), errFrame},
		{"cut header", strings.NewReader(good + "\x01\x00\x00"), errCut},
		{"cut payload", strings.NewReader(good + frame(1, "abc")[:9]), errCut},
		{"broken in header", io.MultiReader(strings.NewReader(good+"\x01"), iotest.ErrReader(broken)), broken},
		{"broken in payload", io.MultiReader(strings.NewReader(good+frame(1, "abc")[:9]), iotest.ErrReader(broken)), broken},
	} {
		out, _, err := split(c.stream)
		if !errors.Is(err, c.want) || !strings.HasPrefix(out, "good") || len(out) > 5 {
			t.Errorf("%s: %q, %v, want %v", c.name, out, err, c.want)
		}
	}
	if _, _, err := split(strings.NewReader(frame(3, "out of cheese"))); err == nil || !strings.Contains(err.Error(), "out of cheese") {
		t.Errorf("an error of the daemon: %v", err)
	}
}

type neverEnding struct{}

// Read gives zeros for ever.
func (neverEnding) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// FuzzDemultiplex compares with the library's demultiplexer on what both
// accept, and demands an error of ours for the rest.
func FuzzDemultiplex(f *testing.F) {
	f.Add([]byte(frame(1, "a") + frame(2, "b")))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff"))
	f.Add([]byte(frame(3, "x")))
	f.Fuzz(func(t *testing.T, stream []byte) {
		out, errs, err := split(iotest.HalfReader(bytes.NewReader(stream)))
		if err != nil {
			return
		}
		var wantOut, wantErr bytes.Buffer
		if _, err := stdcopy.StdCopy(&wantOut, &wantErr, bytes.NewReader(stream)); err != nil {
			t.Fatalf("the library refuses it: %v", err)
		}
		if out != wantOut.String() || errs != wantErr.String() {
			t.Errorf("%q, %q; want %q, %q", out, errs, wantOut.String(), wantErr.String())
		}
	})
}
