package ssh

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// find returns a finding by its name.
func find(t *testing.T, list []Finding, name string) Finding {
	t.Helper()
	for _, f := range list {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("nothing is said about %s: %+v", name, list)
	return Finding{}
}

// Each thing that is in the way is named, with a mend, and nothing is said about what
// can't be seen behind it.
func TestDiagnoseNamesWhatIsInTheWay(t *testing.T) {
	denied := func(t *testing.T) Options {
		o := startFake(t, func(f *fakeServer) {
			f.config = &gossh.ServerConfig{PublicKeyCallback: func(gossh.ConnMetadata, gossh.PublicKey) (*gossh.Permissions, error) {
				return nil, fmt.Errorf("no")
			}}
		}).options(t)
		o.IdentityFiles = []string{filepath.Join(o.Home, "key")}
		writeKey(t, o.IdentityFiles[0], "")
		return o
	}
	strange := func(t *testing.T) Options {
		o := startFake(t, nil).options(t)
		must(t, os.WriteFile(filepath.Join(o.Home, ".ssh", "known_hosts"), nil, 0o600))
		return o
	}
	listener := func(text string) func(*testing.T) Options {
		return func(t *testing.T) Options {
			return Options{Host: "127.0.0.1", Port: raw(t, func(w io.Writer) { _, _ = io.WriteString(w, text) }), User: "u", ConfigFile: "none"}
		}
	}
	for name, c := range map[string]struct {
		options func(*testing.T) Options
		words   string
	}{
		"configuration": {func(*testing.T) Options { return Options{Host: "-x", ConfigFile: "none"} }, "characters"},
		"name":          {func(*testing.T) Options { return Options{Host: "no-such-host.invalid", User: "u", ConfigFile: "none"} }, "resolved"},
		"TCP": {func(t *testing.T) Options {
			return Options{Host: "127.0.0.1", Port: crowded(t), User: "u", ConfigFile: "none"}
		}, "the TCP connection"},
		"banner":         {listener(""), "the SSH banner"},
		"key exchange":   {listener("SSH-2.0-x\r\n"), "the key exchange"},
		"host key":       {strange, "SHA256"},
		"authentication": {denied, "offered"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options(t)
			o.ConnectTimeout = 2 * time.Second
			list := Diagnose(t.Context(), o)
			last := list[len(list)-1]
			if last.Name != name || last.OK || last.Mend == "" || !strings.Contains(last.Detail, c.words) {
				t.Errorf("%+v", last)
			}
			for _, f := range list[:len(list)-1] {
				if !f.OK {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestDiagnoseShellAndSFTP(t *testing.T) {
	on := func(s *servers.SSHD) []Finding {
		o, _ := optionsFor(t, s)
		return Diagnose(t.Context(), o)
	}
	list := on(servers.StartSSHD(t, servers.SSHDOptions{NoSFTP: true, Login: &servers.Login{
		UID: 1001, Shell: "tcsh", Files: map[string]string{".tcshrc": "echo welcome\n"},
	}}))
	if f := find(t, list, "login shell"); !f.OK || !strings.HasSuffix(f.Detail, "/tcsh") {
		t.Errorf("%+v", f)
	}
	if f := find(t, list, "start-up files"); f.OK || f.Mend == "" || !strings.Contains(f.Detail, "welcome") {
		t.Errorf("%+v", f)
	}
	if f := find(t, list, "SFTP"); !f.OK || !strings.Contains(f.Detail, "exec") {
		t.Errorf("%+v", f)
	}
	for _, k := range servers.Kinds() {
		switch k.Name {
		case "SFTP only":
			list := on(k.Start(t))
			if f := find(t, list, "shell"); f.OK || f.Mend == "" {
				t.Errorf("%+v", f)
			}
			if f := find(t, list, "SFTP"); !f.OK || !strings.Contains(f.Detail, "subsystem") {
				t.Errorf("%+v", f)
			}
		case "no SFTP server":
			if f := find(t, on(k.Start(t)), "SFTP"); !f.OK || !strings.Contains(f.Detail, "no usable SFTP server") || f.Mend == "" {
				t.Errorf("%+v", f)
			}
		}
	}
}
