package ssh

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// in puts the home and the account into a text.
func in(home, text string) string {
	me, err := user.Current()
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer("HOME", home, "ME", me.Username).Replace(text)
}

// resolve resolves the host with the client, or without one.
func (a asked) resolve(t *testing.T, home, program string) (string, error) {
	t.Helper()
	o := Options{
		Home: home, LocalUser: in(home, "ME"), SSHProgram: program, Host: a.host, AgentSocket: "/agent",
		Env: []string{"PATH=/usr/bin:/bin", "KEYS=/keys of/me", "SOCKET=/run/agent"},
	}.withDefaults()
	h, err := resolve(t.Context(), o, a.host, a.user, a.port)
	return told(home, h), err
}

// told writes a hop as text, without what is as usual.
func told(home string, h hop) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d as %s", h.host, h.port, h.user)
	some := func(what string, list []string, usual ...string) {
		if !cmp.Equal(list, usual) {
			fmt.Fprintf(&b, "\n%s %q", what, list)
		}
	}
	one := func(what, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n%s %s", what, value)
		}
	}
	one("alias", h.alias)
	some("keys", h.identities)
	if len(h.defaults) == 0 {
		b.WriteString("\nno usual keys")
	}
	if h.only {
		b.WriteString("\nonly these")
	}
	some("certificates", h.certificates)
	some("known hosts", h.knownHosts, home+"/.ssh/known_hosts", home+"/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
	if h.acceptNew {
		b.WriteString("\naccepts new ones")
	}
	if h.agent != "/agent" {
		b.WriteString("\nagent " + h.agent)
	}
	for _, text := range h.proxyJump {
		u, host, port, err := parseJump(text)
		fmt.Fprintf(&b, "\nby %s at %s:%d", u, host, port)
		if err != nil {
			fmt.Fprintf(&b, ": %v", err)
		}
	}
	one("through", h.proxyCommand)
	return b.String()
}

// homeWith makes a home whose .ssh holds the files of a row.
func (a asked) homeWith(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, ".ssh"), 0o700))
	put := func(name, text string) {
		file := filepath.Join(home, ".ssh", name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(in(home, text)), 0o600))
	}
	put("config", a.config)
	for name, text := range a.more {
		put(name, text)
	}
	return home
}

// What is read from ssh_config is what "ssh -G" says (hazard SSHC-10).
func TestSSHC10ResolvedSettingsEqualTheClients(t *testing.T) {
	t.Parallel()
	program, noProgram := exec.LookPath("ssh")
	for _, a := range goldens {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			home := a.homeWith(t)
			got, err := a.resolve(t, home, "")
			must(t, err)
			if diff := cmp.Diff(in(home, a.want), got); diff != "" {
				t.Errorf("by the file (-want +got):\n%s", diff)
			}
			if noProgram != nil {
				require.Missing(t, "ssh", "package openssh-client")
			}
			got, err = a.resolve(t, home, program)
			must(t, err)
			if diff := cmp.Diff(in(home, a.want), got); diff != "" {
				t.Errorf("by the client (-want +got):\n%s", diff)
			}
		})
	}
}

// What decides which host is reached or trusted and is not done is an error that
// names it, by both ways (hazard SSHC-10).
func TestSSHC10WhatIsNotDoneIsNamed(t *testing.T) {
	program, noProgram := exec.LookPath("ssh")
	for _, c := range []struct {
		config, word string
		fileOnly     bool // the client can do it
	}{
		{"RevokedHostKeys /krl\n", "RevokedHostKeys", false},
		{"ProxyCommand nc %h %p\nProxyUseFdpass yes\n", "ProxyUseFdpass", false},
		{"KnownHostsCommand /bin/keys of %H\n", "KnownHostsCommand", false},
		{"BindInterface lo\n", "BindInterface", false},
		{"AddressFamily inet7\n", "AddressFamily", false},
		{"MACs umac-128@openssh.com\n", "MACs", false},
		{"Ciphers aes128-xyz\n", "Ciphers", false},
		{"ProxyCommand nc %h %C\n", "%C", false},
		{"ProxyJump %Z@bastion\n", "%Z", false},
		{"IdentityFile /k/%L\n", "%L", false},
		{"IdentityFile ~other/k\n", "~other", false},
		{"IdentityFile ${NOWHERE}/k\n", "NOWHERE", false},
		{"IdentityAgent $NOWHERE\n", "NOWHERE", false},
		{"HostName %p\n", "HostName", false},
		{"HostName -oProxyCommand=x\n", "-oproxycommand=x", false},
		{"Port many\n", "many", false},
		{"Port 0\n", "0", false},
		{"Port 22 23\n", "port", false},
		{"Port\n", "port", false},
		{"IdentityFile \"/k\n", "quote", false},
		{"IdentitiesOnly perhaps\n", "perhaps", true},
		{"StrictHostKeyChecking perhaps\n", "perhaps", true},
		{"Match all host h\n", "all", false},
		{"Match host\n", "host", false},
		{"Match\n", "", false},
		{"Include loop\n", "Include", true},
		{"CanonicalizeHostname yes\n", "CanonicalizeHostname", true},
		{"Match host h exec true\n Port 2\n", "exec", true},
		{"Match localnetwork 10.0.0.0/8\n Port 2\n", "localnetwork", true},
	} {
		a := asked{host: "h", config: c.config, more: map[string]string{"loop": "Include loop\n"}}
		home := a.homeWith(t)
		got, err := a.resolve(t, home, "")
		wantKind(t, c.config, err, ops.KindUnavailable, c.word)
		if err == nil {
			t.Logf("resolved as %s", got)
		}
		if noProgram != nil {
			require.Missing(t, "ssh", "package openssh-client")
		}
		if _, err := a.resolve(t, home, program); !c.fileOnly {
			wantKind(t, "by the client: "+c.config, err, ops.KindUnavailable)
		}
	}
}
