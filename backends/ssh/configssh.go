package ssh

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath" // files of the client
	"slices"
	"strconv"
	"strings"
	"time"
)

// askSSH lets an OpenSSH client evaluate its configuration, so that Include,
// Match and canonical names work as the user knows them (hazard SSHC-10).
func askSSH(ctx context.Context, o Options, host, userName string, port int) (settings, error) {
	account := thisAccount()
	args := []string{"-G"}
	switch file := filepath.Join(o.Home, ".ssh", "config"); {
	case o.ConfigFile != "":
		args = append(args, "-F", o.ConfigFile)
	case o.Home != account.HomeDir:
		// OpenSSH takes "~" from the account and not from HOME.
		if _, err := os.Stat(file); err != nil {
			file = "none"
		}
		args = append(args, "-F", file)
	}
	if port != 0 {
		args = append(args, "-p", strconv.Itoa(port))
	}
	if userName != "" {
		args = append(args, "-l", userName)
	}
	said, err := runSSH(ctx, o, host, args)
	if err != nil {
		return nil, err
	}
	usual, err := runSSH(ctx, o, host, []string{"-G", "-F", "none"})
	if err != nil {
		return nil, err
	}
	s := settings{}
	for _, line := range said {
		key, value, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		switch key {
		case "ciphers", "macs", "kexalgorithms", "hostkeyalgorithms":
			// What the client does by itself is no wish of its user.
			if !slices.Contains(usual, line) {
				s[key] = []string{value}
			}
		case "userknownhostsfile", "globalknownhostsfile":
			for _, f := range strings.Fields(value) {
				s[key] = append(s[key], o.ownHome(f, account.HomeDir))
			}
		case "identityfile", "certificatefile", "identityagent":
			s[key] = append(s[key], o.ownHome(value, account.HomeDir))
		case "user":
			// The account's own name is what ssh says when nothing else does.
			if value != account.Username || o.LocalUser == "" {
				s[key] = []string{value}
			}
		default:
			s[key] = append(s[key], value)
		}
	}
	if o.usualOnly(s["identityfile"]) {
		delete(s, "identityfile")
	}
	return s, nil
}

// runSSH returns the lines that an OpenSSH client prints of a host.
func runSSH(ctx context.Context, o Options, host string, args []string) ([]string, error) {
	runCtx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	cmd := exec.CommandContext(runCtx, o.SSHProgram, append(args, "--", host)...) //nolint:gosec // the program is the caller's, the names were checked
	cmd.Env = append([]string{"HOME=" + o.Home}, o.Env...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case err != nil:
		return nil, badConfig(host, err, "%s can't evaluate ssh_config for host %s: %s %v", o.SSHProgram, host, plain(stderr.String()), err)
	}
	return strings.Split(strings.ReplaceAll(string(out), "\r\n", "\n"), "\n"), nil
}

// thisAccount is the one that this process runs as; empty if that is not known.
func thisAccount() user.User {
	me, err := user.Current()
	if err != nil {
		return user.User{}
	}
	return *me
}

// usualOnly reports whether these are the key files that ssh lists where ssh_config
// names none: the usual ones, and more of them than anybody would name.
func (o Options) usualOnly(files []string) bool {
	usual := o.usualIdentities()
	for _, f := range files {
		if rest, ok := strings.CutPrefix(f, "~"); ok {
			f = o.Home + filepath.FromSlash(rest)
		}
		if !slices.Contains(usual, f) {
			return false
		}
	}
	return len(files) >= 4
}

// ownHome puts o.Home in the place of the account's home folder.
func (o Options) ownHome(name, account string) string {
	if o.Home == account || account == "" || account == "/" {
		return name
	}
	if rest, ok := strings.CutPrefix(name, account+"/"); ok {
		return filepath.Join(o.Home, rest)
	}
	return name
}
