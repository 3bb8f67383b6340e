package ssh

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

// Options says which host and folder to open. Only Host is required.
type Options struct {
	// Host is a host name, an address, or an alias of ssh_config.
	Host string
	User string // empty: as ssh_config says, else LocalUser
	Port int    // 0: as ssh_config says, else 22
	// Dir is the working folder: absolute, "~/rel", or empty for the home.
	Dir string
	// Root is the confinement root; empty means Dir, "/" confines nothing.
	Root string
	// ExtraRoots are further folders that may be reached, absolute.
	ExtraRoots []ops.Root
	// Strict refuses changes of files where they can't be kept inside the roots while
	// something on the host swaps folders: where SFTP alone carries them.
	Strict bool

	// Home is the home of the client's user, where .ssh is.
	Home string
	// LocalUser is the user name to log in with when nothing else says.
	LocalUser string
	// AgentSocket is the path of the ssh-agent; empty means that there is none.
	AgentSocket string
	// ConfigFile is the ssh_config; empty means Home/.ssh/config, "none" reads none.
	ConfigFile string
	// SSHProgram is an OpenSSH client that resolves ssh_config ("ssh -G"); if
	// empty, the files are evaluated without one.
	SSHProgram string
	// Env is the environment of SSHProgram and of a ProxyCommand, as "NAME=value".
	Env []string
	// IdentityFiles come before those of ssh_config, the agent and the defaults.
	IdentityFiles []string
	// IdentitiesOnly offers nothing but the keys that IdentityFiles and
	// ssh_config name.
	IdentitiesOnly bool
	// KnownHosts replaces the known_hosts files of ssh_config and the default.
	KnownHosts []string
	// AcceptNew adds the key of a host that is not known yet; a changed key
	// always fails.
	AcceptNew bool

	ConnectTimeout time.Duration // for the whole of connecting; 0 means 15 s
	Keepalive      time.Duration // 0 means 15 s
	KeepaliveCount int           // unanswered ones until the link is lost; 0 means 3
	// Patience is how long a call behind the helper whose link fell silent waits for
	// the host's first sign of life on another one, with which it would go on; 0 means
	// 750 ms, so that it returns a second after the link was given up.
	Patience time.Duration

	// Passphrase is asked for an encrypted key; nil skips such keys.
	Passphrase func(ctx context.Context, file string) ([]byte, error)
	// Answer answers keyboard-interactive questions; nil offers no such method.
	Answer func(name, instruction string, questions []string, echos []bool) ([]string, error)
	// Password is asked for the account's password; nil offers no such method.
	Password func(ctx context.Context) (string, error)
	// ShellPath is the POSIX shell on the host; empty means /bin/sh.
	ShellPath string
	// Files says what carries files; empty means FilesBoth. Behind a helper it
	// means nothing.
	Files FilesBy

	// Helper says whether the helper is used; the zero value is helper.Auto.
	// Helpers are the programs to be carried to the host, and Lease is how long
	// commands go on there when the connection is lost.
	Helper  helper.Policy
	Helpers install.Bundle
	Lease   time.Duration
	// Notice receives warnings, a sentence each, from any goroutine; nil drops
	// them.
	Notice func(string)
}

// FilesBy says what carries files where the host has both.
type FilesBy string

// The choices. FilesBoth takes for each operation what does it better: scripts of
// the shell for content, changes and listings, which they bring in one run and
// without a moment between looking at a path and using it; the SFTP server, whose
// session is open already, for looking at a file. FilesSFTP and FilesShell leave
// everything to one of them, where the host has it.
const (
	FilesBoth  FilesBy = "both"
	FilesSFTP  FilesBy = "sftp"
	FilesShell FilesBy = "shell"
)

func (o Options) withDefaults() Options {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 15 * time.Second
	}
	if o.Keepalive <= 0 {
		o.Keepalive = 15 * time.Second
	}
	if o.KeepaliveCount <= 0 {
		o.KeepaliveCount = 3
	}
	if o.Patience <= 0 {
		o.Patience = 750 * time.Millisecond
	}
	if o.Files == "" {
		o.Files = FilesBoth
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	return o
}

// CheckNames refuses hosts, aliases and users that could be taken for an option or
// read by a shell, as Open does. The user may be empty.
func CheckNames(host, user string) error {
	if err := checkName("host", host); err != nil {
		return err
	}
	return checkName("user", user)
}

// checkName refuses what OpenSSH refuses in hosts and users: a leading dash,
// white space, controls, and characters that a shell would read.
func checkName(what, name string) error {
	if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "'`\"$\\;&<>|(){} \t\r\n\x00") ||
		strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return &ops.TransportError{
			Kind: ops.KindUnavailable, Target: name,
			Msg: what + " " + strconv.Quote(name) + " has characters that no host or user name may have",
		}
	}
	return nil
}

// hop is one host on the way, resolved.
type hop struct {
	host, user   string
	port         int
	alias        string   // HostKeyAlias
	identities   []string // that are asked for by name, in order
	defaults     []string // that are tried last
	only         bool     // IdentitiesOnly
	agent        string
	knownHosts   []string
	certificates []string
	acceptNew    bool
	proxyJump    []string
	proxyCommand string
	bind, family string // BindAddress and AddressFamily
	algorithms   algorithms
	name         string // as it was given
}

func (h *hop) address() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

// keyAddress is the address under which known_hosts has the host.
func (h *hop) keyAddress() string {
	if h.alias != "" {
		return net.JoinHostPort(h.alias, "22")
	}
	return h.address()
}

// label names the host as the user did, with the port if it is not 22.
func (h *hop) label() string {
	host := h.name
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if h.port != 22 {
		host += ":" + strconv.Itoa(h.port)
	}
	return "ssh://" + h.user + "@" + host
}
