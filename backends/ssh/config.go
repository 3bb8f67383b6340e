package ssh

import (
	"context"
	"fmt"
	"path/filepath" // files of the client
	"strconv"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// resolve finds out how a host is reached: the options over ssh_config over the
// defaults. What ssh_config asks for and can't be done is an error (hazard
// SSHC-10).
func resolve(ctx context.Context, o Options, host, userName string, port int) (hop, error) {
	if host == "" {
		return hop{}, &ops.TransportError{Kind: ops.KindUnavailable, Msg: "no host is named: write ssh://[user@]host/path"}
	}
	if err := CheckNames(host, userName); err != nil {
		return hop{}, err
	}
	s, err := settingsOf(ctx, o, host, userName, port)
	if err != nil {
		return hop{}, err
	}
	h := hop{
		name: host, host: strings.ToLower(s.first("hostname")), user: userName, port: port,
		alias: s.first("hostkeyalias"), only: o.IdentitiesOnly || s.first("identitiesonly") == "yes",
		acceptNew: o.AcceptNew || s.first("stricthostkeychecking") == "accept-new", agent: o.AgentSocket,
	}
	if h.host == "" {
		h.host = strings.ToLower(host)
	}
	if h.user == "" {
		h.user = s.first("user")
	}
	if h.user == "" {
		h.user = o.LocalUser
	}
	if h.user == "" {
		return h, badConfig(host, nil, "no user is named for %s: write user@%s or set User in ssh_config", host, host)
	}
	if text := s.first("port"); h.port == 0 && text != "" {
		if h.port, err = strconv.Atoi(text); err != nil || h.port < 1 {
			return h, badConfig(host, err, "Port %s in ssh_config is no port", text)
		}
	}
	if h.port == 0 {
		h.port = 22
	}
	if h.port < 1 || h.port > 65535 {
		return h, badConfig(host, nil, "%d is no port", h.port)
	}
	for what, name := range map[string]string{"host": h.host, "user": h.user, "HostKeyAlias": h.alias} {
		if err := checkName(what, name); err != nil {
			return h, err
		}
	}
	switch v := s.first("stricthostkeychecking"); v {
	case "no", "off", "false":
		o.Notice("StrictHostKeyChecking " + v + " for " + host + " is not honoured: unknown host keys are refused")
	}
	if err := h.takeFiles(o, s); err != nil {
		return h, err
	}
	if err := h.takeAlgorithms(s); err != nil {
		return h, err
	}
	h.bind, h.family = s.first("bindaddress"), s.first("addressfamily")
	if provider := s.first("pkcs11provider"); provider != "" && provider != "none" {
		o.Notice("PKCS11Provider " + plain(provider) + " for " + host + " is not honoured: add its keys to the agent with ssh-add -s")
	}
	return h, h.refuse(s)
}

// refuse names what ssh_config asks for and is not done, where it would decide which
// host is reached or trusted.
func (h *hop) refuse(s settings) error {
	if file := s.first("revokedhostkeys"); file != "" && file != "none" {
		return badConfig(h.name, nil, "RevokedHostKeys %s in ssh_config is not supported: mark those keys @revoked in known_hosts", file)
	}
	if command := s.first("knownhostscommand"); command != "" && command != "none" {
		return badConfig(h.name, nil, "KnownHostsCommand %s in ssh_config is not supported: put what it prints into a file of UserKnownHostsFile", plain(command))
	}
	if name := s.first("bindinterface"); name != "" && h.proxyCommand == "" && len(h.proxyJump) == 0 {
		return badConfig(h.name, nil, "BindInterface %s in ssh_config is not supported: name an address of it as BindAddress", plain(name))
	}
	if _, known := families[h.family]; !known {
		return badConfig(h.name, nil, "AddressFamily %s in ssh_config is none of any, inet and inet6", plain(h.family))
	}
	if h.proxyCommand != "" && s.first("proxyusefdpass") == "yes" {
		return badConfig(h.name, nil, "ProxyUseFdpass in ssh_config is not supported: let the ProxyCommand copy the bytes")
	}
	return nil
}

// takeFiles fills in what names files and programs of the client.
func (h *hop) takeFiles(o Options, s settings) error {
	h.identities = append(h.identities, o.IdentityFiles...)
	files, err := h.expandAll(o, s["identityfile"])
	if err != nil {
		return err
	}
	h.identities = append(h.identities, files...)
	if len(s["identityfile"]) == 0 && (!h.only || len(o.IdentityFiles) == 0) {
		h.defaults = o.usualIdentities()
	}
	if h.certificates, err = h.expandAll(o, s["certificatefile"]); err != nil {
		return err
	}
	if h.knownHosts = o.KnownHosts; len(h.knownHosts) == 0 {
		if h.knownHosts, err = h.expandAll(o, append(s["userknownhostsfile"], s["globalknownhostsfile"]...)); err != nil {
			return err
		}
	}
	switch a := s.first("identityagent"); {
	case a == "" || a == "SSH_AUTH_SOCK":
	case a == "none":
		h.agent = ""
	case strings.HasPrefix(a, "$") && !strings.HasPrefix(a, "${"):
		if h.agent, err = h.expandPath(o, "${"+a[1:]+"}"); err != nil {
			return err
		}
	default:
		if h.agent, err = h.expandPath(o, a); err != nil {
			return err
		}
	}
	if jump := s.first("proxyjump"); jump != "" && jump != "none" {
		for _, text := range strings.Split(jump, ",") {
			if text, err = h.expand(o, text); err != nil {
				return err
			}
			h.proxyJump = append(h.proxyJump, text)
		}
	}
	if command := s.first("proxycommand"); command != "" && command != "none" {
		h.proxyCommand, err = h.expand(o, command)
	}
	return err
}

// settings are the values of ssh_config by lower-case key, in their order.
type settings map[string][]string

// first returns the value that counts.
func (s settings) first(key string) string {
	if v := s[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// fill adds what OpenSSH takes when ssh_config says nothing.
func (s settings) fill(o Options) settings {
	if o.Home != "" && len(s["userknownhostsfile"]) == 0 {
		s["userknownhostsfile"] = []string{filepath.Join(o.Home, ".ssh", "known_hosts"), filepath.Join(o.Home, ".ssh", "known_hosts2")}
	}
	if len(s["globalknownhostsfile"]) == 0 {
		s["globalknownhostsfile"] = []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	}
	return s
}

func settingsOf(ctx context.Context, o Options, host, userName string, port int) (s settings, err error) {
	switch {
	case o.ConfigFile == "none", o.ConfigFile == "" && o.Home == "":
		s = settings{}
	case o.SSHProgram != "":
		s, err = askSSH(ctx, o, host, userName, port)
	default:
		s, err = readConfig(o, host, userName)
	}
	if err != nil {
		return nil, err
	}
	return s.fill(o), nil
}

// usualIdentities are the key files that are tried unasked.
func (o Options) usualIdentities() []string {
	if o.Home == "" {
		return nil
	}
	var list []string
	for _, n := range []string{"id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk", "id_xmss", "id_dsa"} {
		list = append(list, filepath.Join(o.Home, ".ssh", n))
	}
	return list
}

func (h *hop) expandAll(o Options, names []string) ([]string, error) {
	var list []string
	for _, n := range names {
		if n == "none" {
			continue
		}
		f, err := h.expandPath(o, n)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// expandPath fills in "~", variables like ${NAME} and tokens.
func (h *hop) expandPath(o Options, text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", badConfig(h.name, nil, "%q in ssh_config names the home of another account, which is not supported: write the path in full", text)
		}
		text = strings.ReplaceAll(o.Home, "%", "%%") + rest
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return h.expand(o, b.String())
		}
		name, after, ok := strings.Cut(rest, "}")
		value, set := o.variable(name)
		if !ok || !set {
			return "", badConfig(h.name, nil, "ssh_config needs the environment variable %s, which is not set", name)
		}
		b.WriteString(strings.ReplaceAll(value, "%", "%%"))
		text = after
	}
}

// variable looks a name up in the environment of the client's user.
func (o Options) variable(name string) (value string, set bool) {
	value, set = o.Home, name == "HOME"
	for _, kv := range o.Env {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value, set = v, true
		}
	}
	return value, set
}

// expand fills in the tokens of ssh_config(5) that name the connection. Another
// token is an error: the text would mean something else.
func (h *hop) expand(o Options, text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			return "", badConfig(h.name, nil, "%q in ssh_config ends with a %% sign", text)
		}
		switch text[i] {
		case '%':
			b.WriteByte('%')
		case 'h':
			b.WriteString(h.host)
		case 'n':
			b.WriteString(h.name)
		case 'p':
			b.WriteString(strconv.Itoa(h.port))
		case 'r':
			b.WriteString(h.user)
		case 'u':
			b.WriteString(o.LocalUser)
		case 'd':
			b.WriteString(o.Home)
		case 'k':
			if h.alias != "" {
				b.WriteString(h.alias)
			} else {
				b.WriteString(h.name)
			}
		default:
			return "", badConfig(h.name, nil, "the token %%%c in %q of ssh_config is not supported", text[i], text)
		}
	}
	return b.String(), nil
}

func badConfig(host string, err error, format string, args ...any) error {
	return &ops.TransportError{Kind: ops.KindUnavailable, Target: "ssh://" + host, Err: err, Msg: fmt.Sprintf(format, args...)}
}

// parseJump splits [user@]host[:port] of a ProxyJump, also as ssh://….
func parseJump(text string) (userName, host string, port int, err error) {
	rest, uri := strings.CutPrefix(strings.TrimSpace(text), "ssh://")
	if uri {
		rest = strings.TrimSuffix(rest, "/")
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		userName, rest = rest[:i], rest[i+1:]
	}
	host = rest
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && (!strings.Contains(rest[:i], ":") || strings.HasSuffix(rest[:i], "]")) {
		if port, err = strconv.Atoi(rest[i+1:]); err != nil || port < 1 || port > 65535 {
			return "", "", 0, fmt.Errorf("ProxyJump %q has no usable port", text)
		}
		host = rest[:i]
	}
	return userName, strings.Trim(host, "[]"), port, nil
}
