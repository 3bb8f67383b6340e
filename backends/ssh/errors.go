package ssh

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/tools/ops"
)

func invalid(format string, args ...any) error {
	return &ops.TransportError{Kind: ops.KindUnavailable, Msg: fmt.Sprintf(format, args...), Err: fs.ErrInvalid}
}

func transport(kind ops.Kind, target string, err error, format string, args ...any) error {
	return &ops.TransportError{Kind: kind, Target: target, Msg: fmt.Sprintf(format, args...), Err: err}
}

func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// ended returns the error of a context that has ended, its cause kept.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// dialFailure explains why a TCP connection to addr was not made.
func dialFailure(target, addr string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return transport(ops.KindUnavailable, target, err, "The host name %s can't be resolved (%s); check the name or its alias in the ssh configuration.", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return transport(ops.KindUnavailable, target, err, "%s refused the connection: no SSH server listens there, or a firewall rejects it.", addr)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return transport(ops.KindUnavailable, target, err, "There is no route to %s; check the network or the VPN.", addr)
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return transport(ops.KindUnavailable, target, err, "%s did not answer in time: the TCP connection was not complete; check the address and the firewall.", addr)
	}
	return transport(ops.KindUnavailable, target, err, "%s can't be reached: %s.", addr, plain(err.Error()))
}

// plain makes text of the other side harmless on a terminal and bounded.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return strings.TrimSpace(s)
}

// sftpError maps a status of the SFTP protocol to a sentinel. Version 3 has few
// of them; "failure" is asked about where it matters.
func sftpError(err error) error {
	var status *sftp.StatusError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return fs.ErrPermission
	case errors.As(err, &status) && status.FxCode() == sftp.ErrSSHFxOpUnsupported:
		return errors.ErrUnsupported
	case errors.As(err, &status):
		return errFailure
	}
	return err
}

// errFailure is the one word that SFTP has for most errors.
var errFailure = errors.New("the server says no more than failure")

func randomHex() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
