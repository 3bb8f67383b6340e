package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath" // files of the client
	"slices"
	"strings"
)

// readConfig evaluates ssh_config without an ssh client, to what "ssh -G" says.
// What can't be evaluated and may matter is an error, never passed over (hazard
// SSHC-10).
func readConfig(o Options, host, userName string) (settings, error) {
	dir := filepath.Join(o.Home, ".ssh")
	file := o.ConfigFile
	if file == "" {
		file = filepath.Join(dir, "config")
	}
	refuse := func(err error) error {
		return badConfig(host, err, "ssh_config can't be evaluated for %s: %s; an installed OpenSSH client would do it", host, plain(err.Error()))
	}
	if _, err := os.Stat(file); err != nil && o.ConfigFile != "" {
		return nil, refuse(err)
	}
	r := configReader{home: o.Home, localUser: o.LocalUser, given: host, host: host, settings: settings{}}
	if userName != "" {
		r.settings["user"] = []string{userName}
	}
	for range 2 { // Match final asks for a second pass, which adds to the first
		r.askedFinal = false
		if err := r.include(file, dir, 0, true); err != nil {
			return nil, refuse(err)
		}
		// As with OpenSSH, the system's file counts where "~" is the account's home.
		if o.ConfigFile == "" && o.Home == thisAccount().HomeDir {
			if err := r.include("/etc/ssh/ssh_config", "/etc/ssh", 0, true); err != nil {
				return nil, refuse(err)
			}
		}
		if !r.askedFinal {
			break
		}
		r.host = strings.ToLower(r.hostName())
		r.settings["hostname"] = []string{r.host}
		r.final = true
	}
	if v := r.settings.first("canonicalizehostname"); v == "yes" || v == "always" {
		return nil, refuse(errors.New("it asks for CanonicalizeHostname"))
	}
	return r.settings, nil
}

// configReader evaluates the lines of ssh_config in their order: the first value
// of a keyword counts.
type configReader struct {
	home, localUser string
	given           string // the host as it was named
	host            string // what Host lines are about
	final           bool   // this is the second pass
	askedFinal      bool   // a Match line asked for it
	settings        settings
}

// hostName is the host's name as far as it is known.
func (r *configReader) hostName() string {
	if name := r.settings.first("hostname"); name != "" {
		return name
	}
	return r.host
}

// maxIncludes is how deep Include may go, as with OpenSSH.
const maxIncludes = 16

// include evaluates a file, if it is there. dir is where relative names in it are
// looked for.
func (r *configReader) include(file, dir string, depth int, active bool) error {
	if depth > maxIncludes {
		return fmt.Errorf("more than %d nested Include lines", maxIncludes)
	}
	data, err := os.ReadFile(file) //nolint:gosec // the user's own configuration
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n, inBlock := 0, active
	for line := range strings.Lines(string(data)) {
		n++
		key, rest := keyword(line)
		switch {
		case key == "" || !active:
		case key == "host":
			inBlock, err = r.matchHost(rest)
		case key == "match":
			inBlock, err = r.match(rest)
		case !inBlock:
		case key == "include":
			err = r.includes(rest, dir, depth)
		default:
			err = r.set(key, rest)
		}
		var at *lineError
		if errors.As(err, &at) {
			return err // an included file has it
		}
		if err != nil {
			return &lineError{file, n, err}
		}
	}
	return nil
}

// lineError says where something is wrong.
type lineError struct {
	file string
	line int
	err  error
}

// Error names the file, the line and the cause.
func (e *lineError) Error() string { return fmt.Sprintf("%s, line %d: %v", e.file, e.line, e.err) }

// Unwrap returns the cause.
func (e *lineError) Unwrap() error { return e.err }

func (r *configReader) includes(rest, dir string, depth int) error {
	names, err := arguments(rest)
	if err != nil {
		return err
	}
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(r.home, rest)
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		files, err := filepath.Glob(name)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := r.include(f, dir, depth+1, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// set takes the value of a keyword unless it has one. Keywords that play no part
// here are passed over.
func (r *configReader) set(key, rest string) error {
	words, err := arguments(rest)
	switch key {
	case "knownhostscommand":
		words, err = []string{rest}, nil
	case "proxycommand":
		words, err = []string{rest}, nil // the shell reads its quotes
		if jump := r.settings.first("proxyjump"); jump != "" && jump != "none" {
			return nil
		}
	case "proxyjump":
		if r.settings.first("proxycommand") != "" {
			return nil
		}
	case "hostname", "user", "port", "hostkeyalias", "identityagent", "revokedhostkeys",
		"bindaddress", "bindinterface", "addressfamily", "pkcs11provider",
		"ciphers", "macs", "kexalgorithms", "hostkeyalgorithms",
		"identitiesonly", "proxyusefdpass", "stricthostkeychecking", "canonicalizehostname",
		"identityfile", "certificatefile", "userknownhostsfile", "globalknownhostsfile":
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0] == "" {
		return fmt.Errorf("%s has no value", key)
	}
	switch key {
	case "userknownhostsfile", "globalknownhostsfile", "proxyjump":
	default:
		if len(words) > 1 {
			return fmt.Errorf("%s has more than one value", key)
		}
	}
	value := words[0]
	switch key {
	case "identityfile", "certificatefile":
		if !slices.Contains(r.settings[key], value) {
			r.settings[key] = append(r.settings[key], value)
		}
		return nil
	case "hostname":
		value, err = expandHostName(value, r.host)
	case "addressfamily":
		value = strings.ToLower(value)
	case "identitiesonly", "proxyusefdpass", "stricthostkeychecking", "canonicalizehostname":
		value, err = choice(key, value)
	}
	switch {
	case err != nil:
		return err
	case len(r.settings[key]) > 0:
	case key == "userknownhostsfile", key == "globalknownhostsfile":
		r.settings[key] = words
	default:
		r.settings[key] = []string{value}
	}
	return nil
}

// choice returns the usual spelling of a value out of a few.
func choice(key, value string) (string, error) {
	v := strings.ToLower(value)
	switch {
	case v == "true":
		return "yes", nil
	case v == "false":
		return "no", nil
	case v == "yes", v == "no",
		key == "stricthostkeychecking" && slices.Contains([]string{"ask", "off", "accept-new"}, v),
		key == "canonicalizehostname" && v == "always":
		return v, nil
	}
	return "", fmt.Errorf("%s can't be %q", key, value)
}

// expandHostName fills in the only token that HostName has.
func expandHostName(name, host string) (string, error) {
	rest := strings.NewReplacer("%%", "", "%h", "").Replace(name)
	if strings.Contains(rest, "%") {
		return "", fmt.Errorf("HostName %q has a token other than %%h and %%%%", name)
	}
	return strings.NewReplacer("%%", "%", "%h", host).Replace(name), nil
}
