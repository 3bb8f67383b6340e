package wire

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/config"
)

// AddressError says what is wrong with the address of a workspace.
type AddressError struct {
	Address string
	Msg     string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("workspace %q: %s", e.Address, e.Msg)
}

// Parse turns an address into the description of a workspace. A name from named
// stands for that workspace; the other forms are a local folder (".", "/path",
// "local:/path"), "ssh://[user@]host[:port][/path]", "[user@]host:path",
// "docker://container[/path]" and "sandbox://image[:tag][/path]".
func Parse(address string, named []config.Workspace) (config.Workspace, error) {
	for _, w := range named {
		if w.Name == address {
			return w, nil
		}
	}
	bad := func(format string, args ...any) (config.Workspace, error) {
		return config.Workspace{}, &AddressError{Address: address, Msg: fmt.Sprintf(format, args...)}
	}
	scheme, rest, hasScheme := strings.Cut(address, "://")
	switch {
	case address == "":
		return bad("it is empty; name a folder, ssh://host/path, docker://container/path or sandbox://image:tag/path")
	case hasScheme && scheme == "ssh":
		return parseSSH(address)
	case hasScheme && scheme == "docker":
		container, dir, _ := strings.Cut(rest, "/")
		name, err := url.PathUnescape(container)
		if err != nil || name == "" {
			return bad("it names no container; write docker://CONTAINER/path")
		}
		w := config.Workspace{Backend: "docker", Container: name}
		if dir != "" {
			w.Path = path.Clean("/" + dir)
		}
		return w, nil
	case hasScheme && scheme == "sandbox":
		image, dir := splitImage(rest)
		if image == "" {
			return bad("it names no image; write sandbox://IMAGE:TAG/path")
		}
		return config.Workspace{Backend: "sandbox", Path: dir, Sandbox: config.Sandbox{Image: image}}, nil
	case hasScheme:
		return bad("%s:// is no kind of workspace; the kinds are ssh://, docker:// and sandbox://", scheme)
	case strings.HasPrefix(address, "local:"):
		return config.Workspace{Backend: "local", Path: strings.TrimPrefix(address, "local:")}, nil
	}
	if host, dir, ok := scpForm(address); ok {
		return parseSCP(address, host, dir)
	}
	if !strings.ContainsAny(address, "/.") && !strings.HasPrefix(address, "~") {
		return bad("no workspace of the configuration has this name; a folder is written ./%s", address)
	}
	return config.Workspace{Backend: "local", Path: address}, nil
}

// splitImage splits "image[:tag][/path]". An image may have slashes too: it ends with
// the last component that holds a colon or an at sign, else with the first.
func splitImage(rest string) (image, dir string) {
	parts := strings.Split(rest, "/")
	end := 0
	for i, p := range parts {
		if strings.ContainsAny(p, ":@") {
			end = i
		}
	}
	if end+1 < len(parts) {
		dir = path.Clean("/" + strings.Join(parts[end+1:], "/"))
	}
	if dir == "/" {
		dir = "" // "image/" is the image
	}
	return strings.Join(parts[:end+1], "/"), dir
}

// scpForm splits "host:path" where the colon comes before any slash.
func scpForm(address string) (host, dir string, ok bool) {
	i := strings.IndexByte(address, ':')
	if i <= 0 || strings.Contains(address[:i], "/") || strings.HasPrefix(address, ".") {
		return "", "", false
	}
	return address[:i], address[i+1:], true
}

func parseSCP(address, host, dir string) (config.Workspace, error) {
	w := config.Workspace{Backend: "ssh", Host: host}
	if user, name, ok := cutLast(host, "@"); ok {
		w.User, w.Host = user, name
	}
	if w.Host == "" {
		return config.Workspace{}, &AddressError{Address: address, Msg: "it names no host; write [user@]host:path"}
	}
	if err := ssh.CheckNames(w.Host, w.User); err != nil {
		return config.Workspace{}, &AddressError{Address: address, Msg: err.Error()}
	}
	switch {
	case dir == "" || dir == "~":
	case strings.HasPrefix(dir, "/"):
		w.Path = path.Clean(dir)
	default:
		w.Path = "~/" + strings.TrimPrefix(path.Clean(dir), "~/")
	}
	return w, nil
}

func parseSSH(address string) (config.Workspace, error) {
	bad := func(format string, args ...any) (config.Workspace, error) {
		return config.Workspace{}, &AddressError{Address: address, Msg: fmt.Sprintf(format, args...)}
	}
	authority, dir, hasDir := strings.Cut(strings.TrimPrefix(address, "ssh://"), "/")
	w := config.Workspace{Backend: "ssh"}
	if user, host, ok := cutLast(authority, "@"); ok {
		if strings.Contains(user, ":") {
			return bad("a password in an address would be seen by others; use keys or an agent")
		}
		w.User, authority = user, host
	}
	host, port := authority, ""
	if strings.HasPrefix(authority, "[") { // an IPv6 address
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return bad("the bracket of the host is not closed")
		}
		host, port = authority[1:end], strings.TrimPrefix(authority[end+1:], ":")
	} else if h, p, ok := cutLast(authority, ":"); ok {
		host, port = h, p
		if p == "" {
			return bad("the port behind the colon is missing")
		}
	}
	if host == "" {
		return bad("it names no host; write ssh://[user@]host[:port]/path")
	}
	w.Host = host
	if err := ssh.CheckNames(w.Host, w.User); err != nil {
		return bad("%v", err)
	}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return bad("%q is no port; a port is a number from 1 to 65535", port)
		}
		w.Port = n
	}
	switch {
	case !hasDir || dir == "" && !hasDir:
	case dir == "~" || dir == "~/":
	case strings.HasPrefix(dir, "~/"):
		w.Path = "~/" + path.Clean(dir[2:])
	default:
		w.Path = path.Clean("/" + dir)
	}
	return w, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(sep):], true
}
