package ssh

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath" // files of the client
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/piremote/piremote/tools/ops"
)

// hostKeys checks host keys against known_hosts files (sshd(8), SSH_KNOWN_HOSTS
// FILE FORMAT; hazards SSHC-03, SSHC-05).
type hostKeys struct {
	hop    hop
	notice func(string)
	db     *knownhosts.HostKeyDB // nil if there is no file
}

// newHostKeys reads the known_hosts files; those that don't exist are empty. It
// is called for each connection, so that a key that was added counts.
func newHostKeys(h hop, notice func(string)) (*hostKeys, error) {
	k := &hostKeys{hop: h, notice: notice}
	return k, k.load()
}

func (k *hostKeys) load() error {
	var files []string
	for _, f := range k.hop.knownHosts {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			files = append(files, f)
		}
	}
	k.db = nil
	if len(files) == 0 {
		return nil
	}
	files, remove, err := k.readable(files)
	defer remove()
	if err != nil {
		return err
	}
	if k.db, err = knownhosts.NewDB(files...); err != nil {
		return k.refuse(err, "known_hosts can't be read: %v", err)
	}
	return nil
}

// readable replaces files that have malformed lines by private copies without
// them: one bad line must not hide the good ones.
func (k *hostKeys) readable(files []string) (list []string, remove func(), err error) {
	var copies []string
	remove = func() {
		for _, f := range copies {
			_ = os.Remove(f) // a private copy of public keys
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // the user's own known_hosts
		if err != nil {
			return nil, remove, &ops.TransportError{Kind: ops.KindHostKey, Target: k.hop.label(), Err: err, Msg: fmt.Sprintf("known_hosts can't be read: %v", err)}
		}
		var good []string
		bad := 0
		for n, line := range strings.Split(string(data), "\n") {
			if wellFormed(line) {
				good = append(good, line)
				continue
			}
			k.notice(fmt.Sprintf("%s, line %d is malformed and was passed over", file, n+1))
			bad++
			good = append(good, "") // line numbers stay
		}
		if bad == 0 {
			list = append(list, file)
			continue
		}
		f, err := os.CreateTemp("", "piremote-known-hosts-")
		if err != nil {
			return nil, remove, err
		}
		copies = append(copies, f.Name())
		_, err = f.WriteString(strings.Join(good, "\n") + "\n")
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, remove, err
		}
		list = append(list, f.Name())
	}
	return list, remove, nil
}

// wellFormed reports whether the library can read a line.
func wellFormed(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return true
	}
	_, hosts, _, _, _, err := gossh.ParseKnownHosts([]byte(line + "\n"))
	if err != nil || len(hosts) == 0 || slices.Contains(hosts, "") {
		return false
	}
	if strings.HasPrefix(hosts[0], "|") {
		parts := strings.Split(hosts[0], "|")
		if len(hosts) != 1 || len(parts) != 4 || parts[1] != "1" {
			return false
		}
		for _, p := range parts[2:] {
			if _, err := base64.StdEncoding.DecodeString(p); err != nil {
				return false
			}
		}
	}
	return true
}

// check is a gossh.HostKeyCallback.
func (k *hostKeys) check(_ string, _ net.Addr, key gossh.PublicKey) error {
	if cert, ok := key.(*gossh.Certificate); ok {
		// As with OpenSSH, a certificate of no recorded authority is the key in it.
		if _, authorities := k.recorded(); !slices.Contains(authorities, string(cert.SignatureKey.Marshal())) {
			key = cert.Key
		}
	}
	err := k.lookUp(key)
	var revoked *xknownhosts.RevokedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return k.refuse(err, "the key %s %s of %s is marked @revoked in %s", key.Type(), gossh.FingerprintSHA256(key), k.hop.address(), revoked.Revoked.Filename)
	case knownhosts.IsHostKeyChanged(err):
		return k.changed(err, key)
	case !knownhosts.IsHostUnknown(err):
		return k.refuse(err, "the host key of %s was refused: %s", k.hop.address(), plain(err.Error()))
	}
	if k.hop.acceptNew {
		return k.add(key)
	}
	return k.refuse(err, "the host key of %s is not known: %s %s; if that is the host's own, add this line to %s: %s",
		k.hop.address(), key.Type(), gossh.FingerprintSHA256(key), k.file(), knownhosts.Line([]string{k.hop.keyAddress()}, key))
}

// lookUp returns nil for a recorded key, or an error of the library.
func (k *hostKeys) lookUp(key gossh.PublicKey) error {
	if k.db == nil {
		return &xknownhosts.KeyError{}
	}
	// The address plays no part, but must be one: a proxy command has none.
	err := k.db.HostKeyCallback()(k.hop.keyAddress(), &net.TCPAddr{IP: net.IPv4zero, Port: k.hop.port}, key)
	var ke *xknownhosts.KeyError
	if !errors.As(err, &ke) {
		return err
	}
	// The key of an authority says nothing about that of the host.
	own, _ := k.recorded()
	return &xknownhosts.KeyError{Want: slices.DeleteFunc(slices.Clone(ke.Want), func(w xknownhosts.KnownKey) bool {
		return !slices.Contains(own, string(w.Key.Marshal()))
	})}
}

func (k *hostKeys) changed(err error, key gossh.PublicKey) error {
	var recorded []string
	var ke *xknownhosts.KeyError
	if errors.As(err, &ke) {
		for _, w := range ke.Want {
			recorded = append(recorded, fmt.Sprintf("%s %s (%s:%d)", w.Key.Type(), gossh.FingerprintSHA256(w.Key), w.Filename, w.Line))
		}
	}
	return k.refuse(err, "the host key of %s has changed, which may be an attack: it shows %s %s, recorded is %s; if the change is known to be right: ssh-keygen -R '%s' -f %s",
		k.hop.address(), key.Type(), gossh.FingerprintSHA256(key), strings.Join(recorded, ", "), knownhosts.Normalize(k.hop.keyAddress()), k.file())
}

func (k *hostKeys) refuse(err error, format string, args ...any) error {
	return &ops.TransportError{Kind: ops.KindHostKey, Target: k.hop.label(), Err: err, Msg: fmt.Sprintf(format, args...)}
}

func (k *hostKeys) file() string {
	if len(k.hop.knownHosts) > 0 {
		return k.hop.knownHosts[0]
	}
	return "known_hosts"
}

// add records a new key by one write at the end of the file, under a lock and
// unless another process did so meanwhile (hazard SSHC-03).
func (k *hostKeys) add(key gossh.PublicKey) error {
	if len(k.hop.knownHosts) == 0 {
		return k.refuse(nil, "the host key of %s can't be recorded: there is no known_hosts file", k.hop.address())
	}
	file := k.file()
	added := false
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		added, err = k.appendLine(file, key)
	}
	switch {
	case ops.KindOf(err) != "":
		return err
	case err != nil:
		return k.refuse(err, "the host key of %s can't be recorded, so it is not accepted: %v", k.hop.address(), err)
	case added:
		k.notice(fmt.Sprintf("recorded the new host key of %s in %s: %s %s", k.hop.address(), file, key.Type(), gossh.FingerprintSHA256(key)))
	}
	return nil
}

// appendLine adds the key's line with a single write; bytes that are there stay.
func (k *hostKeys) appendLine(file string, key gossh.PublicKey) (added bool, err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the user's own known_hosts
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // frees the lock
	if err := lockFile(f); err != nil {
		return false, err
	}
	again := &hostKeys{hop: k.hop, notice: func(string) {}}
	if err := again.load(); err != nil {
		return false, err
	}
	switch err := again.lookUp(key); {
	case err == nil:
		return false, nil
	case !knownhosts.IsHostUnknown(err):
		return false, again.changed(err, key)
	}
	line := knownhosts.Line([]string{k.hop.keyAddress()}, key) + "\n"
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return false, err
		}
		if last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = f.WriteString(line)
	return err == nil, err
}
