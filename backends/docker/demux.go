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
	frameStdin  = 0
	frameStdout = 1
	frameStderr = 2
	frameSystem = 3 // an error of the daemon
)

// errFrame is a header that no daemon sends.
var errFrame = errors.New("corrupt frame in the output stream")

// demultiplex delivers a stream's payload in blocks until its end. A header
// that can't be right is an error at once; memory does not follow what a header
// claims (hazard DKX-05).
func demultiplex(r io.Reader, stdout, stderr func([]byte)) error {
	header := make([]byte, 8)
	buf := make([]byte, 64<<10)
	for {
		if _, err := io.ReadFull(r, header); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("%w: it ends within a header", errFrame)
			}
			return err
		}
		if header[0] > frameSystem || header[1] != 0 || header[2] != 0 || header[3] != 0 {
			return fmt.Errorf("%w: header %x", errFrame, header)
		}
		deliver := stdout
		switch header[0] {
		case frameStderr:
			deliver = stderr
		case frameSystem:
			return systemError(r, int64(binary.BigEndian.Uint32(header[4:])))
		}
		for left := int64(binary.BigEndian.Uint32(header[4:])); left > 0; {
			n, err := r.Read(buf[:min(left, int64(len(buf)))])
			if n > 0 && deliver != nil {
				deliver(buf[:n])
			}
			left -= int64(n)
			if err != nil && left > 0 {
				if errors.Is(err, io.EOF) {
					return fmt.Errorf("%w: it ends within a frame", errFrame)
				}
				return err
			}
		}
	}
}

// systemError reads the daemon's own message.
func systemError(r io.Reader, size int64) error {
	text, err := io.ReadAll(io.LimitReader(r, min(size, 4096)))
	return errors.Join(fmt.Errorf("the daemon reports: %s", text), err)
}
