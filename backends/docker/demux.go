package docker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The multiplexed stream: frames of an eight-byte header (stream, three zero
// bytes, length in big-endian) and payload; Docker Engine API, "Attach to a
// container", stream format.
const (
	frameStdin  = 0 // written to stdout, says the documentation
	frameStdout = 1
	frameStderr = 2
	frameSystem = 3 // an error of the daemon
)

// maxFrame bounds a frame. Daemons send some kilobytes; a length beyond this is
// the payload of a raw stream that was taken for a header.
const maxFrame = 16 << 20

// errFrame is a header that no daemon sends.
var errFrame = errors.New("corrupt frame in the output stream")

// errCut is a stream that ends within a frame.
var errCut = errors.New("the output stream ends within a frame")

// demultiplex delivers a stream's payload in blocks until its end. A header
// that can't be right is an error at once; memory does not follow what a header
// claims (hazard DKX-05). A nil function discards.
func demultiplex(r io.Reader, stdout, stderr func([]byte)) error {
	header := make([]byte, 8)
	buf := make([]byte, 64<<10)
	for {
		if _, err := io.ReadFull(r, header); err != nil {
			switch {
			case errors.Is(err, io.ErrUnexpectedEOF):
				return errCut
			case errors.Is(err, io.EOF):
				return nil
			}
			return err
		}
		size := int64(binary.BigEndian.Uint32(header[4:]))
		if header[0] > frameSystem || header[1] != 0 || header[2] != 0 || header[3] != 0 || size > maxFrame {
			return fmt.Errorf("%w: header %x", errFrame, header)
		}
		deliver := stdout
		switch header[0] {
		case frameStderr:
			deliver = stderr
		case frameSystem:
			return systemError(r, size)
		}
		if err := payload(r, size, buf, deliver); err != nil {
			return err
		}
	}
}

func payload(r io.Reader, size int64, buf []byte, deliver func([]byte)) error {
	for size > 0 {
		n, err := r.Read(buf[:min(size, int64(len(buf)))])
		if n > 0 && deliver != nil {
			deliver(buf[:n])
		}
		size -= int64(n)
		if err != nil && size > 0 {
			if errors.Is(err, io.EOF) {
				return errCut
			}
			return err
		}
	}
	return nil
}

// systemError reads the daemon's own message.
func systemError(r io.Reader, size int64) error {
	text, err := io.ReadAll(io.LimitReader(r, min(size, 4096)))
	return errors.Join(fmt.Errorf("the daemon reports: %s", text), err)
}
