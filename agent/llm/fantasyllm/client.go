package fantasyllm

import (
	"net/http"
	"net/textproto"
	"strings"
)

// client sends requests with the headers of the options and of the wire, and no
// others: the libraries below take keys, organisations and whole headers from
// the environment, which would go to any base URL.
type client struct{ options Options }

// Do sends a request.
func (c client) Do(req *http.Request) (*http.Response, error) {
	wanted := map[string]bool{}
	for name := range c.options.Headers {
		wanted[textproto.CanonicalMIMEHeaderKey(name)] = true
	}
	for name := range req.Header {
		if !wanted[name] && !c.allowed(name) {
			req.Header.Del(name)
		}
	}
	return c.options.HTTPClient.Do(req) //nolint:gosec // G704: the address is the user's configuration
}

func (c client) allowed(name string) bool {
	switch name {
	case "Accept", "Content-Type", "Content-Length", "User-Agent", "Idempotency-Key", "Anthropic-Version", "Anthropic-Beta":
		return true
	case "X-Api-Key":
		return c.options.Type == Anthropic && c.options.APIKey != ""
	case "Authorization":
		return c.options.Type != Anthropic && c.options.APIKey != ""
	}
	return strings.HasPrefix(name, "X-Stainless-")
}
