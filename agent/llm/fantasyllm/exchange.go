package fantasyllm

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync/atomic"

	"charm.land/fantasy/providers/openrouter"

	"github.com/piremote/piremote/tools/tool"
)

// exchange is one request and what its provider said. The libraries below leave
// out much of that: headers of an error, the reason for which an answer ended,
// tokens that were counted. They also take keys, organisations and whole headers
// from the environment, which would go to any base URL; exchange sends the headers
// of the options and of the wire, and no others.
//
// It belongs to one call of Stream, whose goroutine alone reads it.
type exchange struct {
	options Options

	status int         // 0 before there was an answer
	header http.Header // of the answer
	body   []byte      // of an answer that is no stream, its head

	finish string      // why the answer ended, as the provider spells it; empty: it did not say
	usage  *tool.Usage // what it counted, where the library counts otherwise
	said   saying      // the error inside the stream
	err    error       // what ended the stream before its end

	beats atomic.Bool // bytes came since this was last cleared
}

// Do sends a request.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	x.strip(req.Header)
	if x.options.Type == OpenRouter && x.options.BaseURL != "" {
		if err := x.redirect(req); err != nil {
			return nil, err
		}
	}
	res, err := x.options.HTTPClient.Do(req) //nolint:gosec // G704: the address is the user's configuration
	if err != nil {
		x.err = err
		return nil, err
	}
	x.status, x.header = res.StatusCode, res.Header
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		x.body, err = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		_ = res.Body.Close()
		res.Body = io.NopCloser(strings.NewReader(string(x.body)))
		return res, err
	case kind == "text/html", kind == "application/json":
		// A page, or an answer that was not asked for. Some servers name their
		// streams text/plain or nothing, so what is no stream is listed.
		x.body, _ = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		_ = res.Body.Close()
		x.err = fmt.Errorf("%s answers with %s instead of a stream: %s; is base_url right?", origin(req.URL), kind, excerpt(x.body))
		return nil, x.err
	}
	res.Body = &lines{source: res.Body, exchange: x, read: x.reader(req.URL.Path)}
	return res, nil
}

// RoundTrip is Do, for the library that takes a transport.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	return x.Do(req.Clone(req.Context()))
}

// maxErrorBody bounds what is kept of an answer that is no stream.
const maxErrorBody = 64 << 10

// redirect sends a request of OpenRouter's to the address of the options; the
// library knows only its own.
func (x *exchange) redirect(req *http.Request) error {
	path, ok := strings.CutPrefix(req.URL.String(), openrouter.DefaultURL)
	if !ok {
		return fmt.Errorf("request to %s, which is not OpenRouter", origin(req.URL))
	}
	to, err := url.Parse(strings.TrimSuffix(x.options.BaseURL, "/") + path)
	if err != nil {
		return err
	}
	req.URL, req.Host = to, to.Host
	return nil
}

// strip removes the headers that nobody asked for.
func (x *exchange) strip(h http.Header) {
	wanted := map[string]bool{}
	for name := range x.options.Headers {
		wanted[textproto.CanonicalMIMEHeaderKey(name)] = true
	}
	for name := range h {
		if !wanted[textproto.CanonicalMIMEHeaderKey(name)] && !x.allowed(textproto.CanonicalMIMEHeaderKey(name)) {
			delete(h, name) // not Del: a library may spell it otherwise
		}
	}
}

func (x *exchange) allowed(name string) bool {
	keyed := x.options.APIKey != ""
	switch name {
	case "Accept", "Content-Type", "Content-Length", "User-Agent", "Idempotency-Key", "Anthropic-Version", "Anthropic-Beta", "X-Goog-Api-Client":
		return true
	case "X-Api-Key":
		return keyed && x.options.Type == Anthropic
	case "X-Goog-Api-Key":
		return keyed && x.options.Type == Google
	case "Authorization":
		return keyed && x.options.Type != Anthropic && x.options.Type != Google
	}
	return strings.HasPrefix(name, "X-Stainless-")
}

// origin is an address without what may be secret in it.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }
