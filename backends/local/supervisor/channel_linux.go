package supervisor

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// maxPassed is the number of descriptors that may travel with a message.
const maxPassed = 3

// channel is a supervisor's end: a blocking stream socket.
type channel int

// Read fills p in part.
func (c channel) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(c), p)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// send writes a message. Nobody may be listening any more.
func (c channel) send(m Message) {
	for b := m.Encode(); len(b) > 0; {
		n, err := unix.SendmsgN(int(c), b, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		b = b[max(n, 0):]
	}
}

// receive reads a message and the descriptors that travel with it, which are not
// inherited by what is started later.
func (c channel) receive() (Message, []int, error) {
	var header [headerSize]byte
	control := make([]byte, unix.CmsgSpace(4*maxPassed))
	var passed []int
	for got := 0; got < len(header); {
		n, cn, _, _, err := unix.Recvmsg(int(c), header[got:], control, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			closeAll(passed)
			return Message{}, nil, err
		}
		passed = append(passed, descriptors(control[:cn])...)
		got += n
	}
	m, err := readFields(header, c)
	if err != nil {
		closeAll(passed)
		return m, nil, err
	}
	return m, passed, nil
}

func descriptors(control []byte) []int {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	var all []int
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			all = append(all, fds...)
		}
	}
	return all
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
