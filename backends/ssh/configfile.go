package ssh

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath" // files of the client
	"strings"

	sshconfig "github.com/kevinburke/ssh_config"
)

// readConfig reads ssh_config without an ssh client. What can't be evaluated
// and may matter is an error, never passed over (hazard SSHC-10).
func readConfig(o Options, host string) (settings, error) {
	file := o.ConfigFile
	if file == "" {
		file = filepath.Join(o.Home, ".ssh", "config")
	}
	refuse := func(err error) error {
		return badConfig(host, err, "%s can't be evaluated for %s: %s; an installed OpenSSH client would do it", file, host, plain(err.Error()))
	}
	data, err := os.ReadFile(file) //nolint:gosec // the user's own configuration
	if errors.Is(err, fs.ErrNotExist) && o.ConfigFile == "" {
		return settings{}, nil
	}
	if err != nil {
		return nil, refuse(err)
	}
	text, err := inline(string(data), filepath.Join(o.Home, ".ssh"), o.Home, 0)
	if err != nil {
		return nil, refuse(err)
	}
	cfg, err := sshconfig.DecodeBytes([]byte(text))
	if err != nil {
		return nil, refuse(err)
	}
	s := settings{}
	for _, key := range []string{
		"HostName", "User", "Port", "HostKeyAlias", "IdentitiesOnly", "IdentityAgent", "StrictHostKeyChecking",
		"ProxyJump", "ProxyCommand", "IdentityFile", "CertificateFile", "UserKnownHostsFile", "GlobalKnownHostsFile",
	} {
		values, err := cfg.GetAll(host, key)
		if err != nil {
			return nil, refuse(err)
		}
		key = strings.ToLower(key)
		switch key {
		case "userknownhostsfile", "globalknownhostsfile":
			if len(values) > 0 {
				s[key] = fields(values[0])
			}
		default:
			for _, v := range values {
				s[key] = append(s[key], unquote(v))
			}
		}
	}
	proxyOrder(cfg, host, s)
	return s, nil
}

// proxyOrder keeps the first of ProxyJump and ProxyCommand, which rules the
// other out.
func proxyOrder(cfg *sshconfig.Config, host string, s settings) {
	if s.first("proxyjump") == "" || s.first("proxycommand") == "" {
		return
	}
	for _, h := range cfg.Hosts {
		if !h.Matches(host) {
			continue
		}
		for _, n := range h.Nodes {
			if kv, ok := n.(*sshconfig.KV); ok {
				switch strings.ToLower(kv.Key) {
				case "proxyjump":
					delete(s, "proxycommand")
					return
				case "proxycommand":
					delete(s, "proxyjump")
					return
				}
			}
		}
	}
}

// maxIncludes is how deep Include may go.
const maxIncludes = 16

// inline puts included files in the place of their Include lines: the library
// would look for them below the account's home folder. An Include inside a Host
// block is conditional and refused, as is a Match on more than the host's name.
func inline(text, dir, home string, depth int) (string, error) {
	if depth > maxIncludes {
		return "", errors.New("too many nested Include lines")
	}
	var b strings.Builder
	inBlock := false
	for line := range strings.Lines(text) {
		key, rest := keyword(line)
		switch key {
		case "host":
			inBlock = strings.TrimSpace(rest) != "*"
		case "match":
			f := strings.Fields(strings.ToLower(rest))
			switch {
			case len(f) == 1 && f[0] == "all":
				inBlock = false
			case len(f) == 2 && f[0] == "host":
				inBlock = true
			default:
				return "", errors.New("it holds Match " + rest)
			}
		case "include":
			if inBlock {
				return "", errors.New("it holds an Include inside a Host block")
			}
			if err := includes(&b, rest, dir, home, depth); err != nil {
				return "", err
			}
			continue
		}
		b.WriteString(line)
	}
	return b.String(), nil
}

func includes(b *strings.Builder, names, dir, home string, depth int) error {
	for _, name := range fields(names) {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		files, err := filepath.Glob(name)
		if err != nil {
			return err
		}
		for _, f := range files {
			data, err := os.ReadFile(f) //nolint:gosec // named by the user's own file
			if err != nil {
				return err
			}
			text, err := inline(string(data), dir, home, depth+1)
			if err != nil {
				return err
			}
			b.WriteString(text + "\nHost *\n") // what follows is for all again
		}
	}
	return nil
}

// keyword splits a line of ssh_config; the keyword is in lower case.
func keyword(line string) (key, rest string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", ""
	}
	i := strings.IndexAny(line, " \t=")
	if i < 0 {
		return strings.ToLower(line), ""
	}
	return strings.ToLower(line[:i]), strings.TrimSpace(strings.TrimLeft(line[i:], " \t="))
}

func unquote(v string) string {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// fields splits at blanks outside of double quotes.
func fields(s string) []string {
	var list []string
	var word strings.Builder
	quoted, some := false, false
	for _, r := range s {
		switch {
		case r == '"':
			quoted, some = !quoted, true
		case (r == ' ' || r == '\t') && !quoted:
			if some {
				list = append(list, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteRune(r)
			some = true
		}
	}
	if some {
		list = append(list, word.String())
	}
	return list
}
