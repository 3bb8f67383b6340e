package docker

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wire is the way to a daemon's HTTP server.
type wire struct {
	host string // for the client library
	base string // URL before the path of a request
	tls  *tls.Config
	dial func(ctx context.Context) (net.Conn, error) // without TLS; nil where the client library must dial
}

// keepAlive keeps a silent connection known to what is between (hazard DKX-06).
const keepAlive = 15 * time.Second

// maxAnswer bounds answers of the daemon that are read whole.
const maxAnswer = 1 << 20

func newWire(e endpoint) (wire, error) {
	if e.Dial != nil {
		return wire{
			host: "http://daemon", base: "http://daemon",
			dial: func(ctx context.Context) (net.Conn, error) { return e.Dial(ctx, "tcp", "daemon:80") },
		}, nil
	}
	scheme, addr, ok := strings.Cut(e.Host, "://")
	if !ok || addr == "" {
		return wire{}, errors.New("it has not the form unix:///path or tcp://host:port")
	}
	w := wire{host: e.Host, base: "http://docker"}
	dialer := &net.Dialer{KeepAlive: keepAlive}
	switch scheme {
	case "unix":
		w.dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "unix", addr) }
	case "npipe":
	case "tcp", "http":
		u, err := url.Parse("http://" + addr)
		if err != nil || u.Host == "" {
			return wire{}, errors.New("it has not the form tcp://host:port")
		}
		w.base = "http://" + u.Host + strings.TrimSuffix(u.Path, "/")
		w.dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", u.Host) }
		if e.TLS != "" {
			if w.tls, err = tlsConfig(e.TLS, u.Hostname()); err != nil {
				return wire{}, err
			}
			w.base = "https" + strings.TrimPrefix(w.base, "http")
		}
	default:
		return wire{}, fmt.Errorf("%s:// is not one of unix, tcp, npipe, ssh", scheme)
	}
	return w, nil
}

// tlsConfig reads ca.pem, cert.pem and key.pem; each may be missing.
func tlsConfig(dir, server string) (*tls.Config, error) {
	c := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem")) //nolint:gosec // the user's own configuration
	switch {
	case err == nil:
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate", filepath.Join(dir, "ca.pem"))
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	switch {
	case err == nil:
		c.Certificates = []tls.Certificate{pair}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	return c, nil
}

// transport returns what the client library shall use.
func (w wire) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: w.tls, MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second}
}

// dialAny has the form that the client library wants.
func (w wire) dialAny(ctx context.Context, _, _ string) (net.Conn, error) { return w.dial(ctx) }

// open connects, with TLS if there is any.
func (w wire) open(ctx context.Context) (net.Conn, error) {
	conn, err := w.dial(ctx)
	if err != nil || w.tls == nil {
		return conn, err
	}
	secure := tls.Client(conn, w.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func (w wire) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// upgrade sends a request that turns its connection into a stream. ctx bounds
// the exchange, not the stream.
func (w wire) upgrade(ctx context.Context, path string, body io.Reader) (*stream, error) {
	req, err := w.request(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	conn, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	reader, err := exchange(conn, req)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &stream{conn: conn, reader: reader}, nil
}

func exchange(conn net.Conn, req *http.Request) (*bufio.Reader, error) {
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer func() { _ = resp.Body.Close() }() // the connection is closed anyway
		return nil, answered(resp)
	}
	return reader, nil
}

// statusError is a refusal of the daemon.
type statusError struct {
	code int
	msg  string
}

// Error returns the daemon's own sentence.
func (e *statusError) Error() string { return e.msg }

// answered reads a refusal.
func answered(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // a part of the sentence is better than none
	var answer struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Message == "" {
		answer.Message = strings.TrimSpace(string(text[:min(len(text), 400)])) + " (" + resp.Status + ")"
	}
	return &statusError{code: resp.StatusCode, msg: answer.Message}
}

// dialFailed reports that a connection was not even made.
func dialFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// stream is an attached process: what is read is multiplexed, what is written
// is its input.
type stream struct {
	conn   net.Conn
	reader *bufio.Reader
}

func (s *stream) Read(p []byte) (int, error)  { return s.reader.Read(p) }
func (s *stream) Write(p []byte) (int, error) { return s.conn.Write(p) }
func (s *stream) Close() error                { return s.conn.Close() }

// CloseWrite ends the input if the connection can close one direction (hazard
// DKX-04: some can't).
func (s *stream) CloseWrite() error {
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
