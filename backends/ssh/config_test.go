//go:build linux

package ssh

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// view of a hop that the ways to read ssh_config must agree on.
type resolved struct {
	Host, User, Alias string
	Port              int
	Identities        []string
	Only, AcceptNew   bool
	Jump              []string
	Command           string
	KnownHosts        []string
}

func resolveIn(t *testing.T, home, program, host string) (resolved, hop, error) {
	t.Helper()
	o := Options{Home: home, LocalUser: "me", SSHProgram: program, Host: host, Env: []string{"PATH=/usr/bin:/bin"}}.withDefaults()
	h, err := resolve(t.Context(), o, host, "", 0)
	return resolved{h.host, h.user, h.alias, h.port, h.identities, h.only, h.acceptNew, h.proxyJump, h.proxyCommand, h.knownHosts}, h, err
}

func TestSSHC10FileAndClientAgree(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		require.Missing(t, "ssh", "package openssh-client")
	}
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, ".ssh", "conf.d"), 0o700))
	put := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(home, ".ssh", name), []byte(strings.ReplaceAll(text, "HOME", home)), 0o600))
	}
	put("conf.d/one", "Host inc\n  HostName included.example\n  Port 2022\n")
	put("config", `
Include HOME/.ssh/conf.d/*
User everyone
Host alias
  HostName real.example
  Port 2200
  User first
  HostKeyAlias logical
  IdentityFile HOME/keys/%h
  IdentityFile HOME/keys/second
  IdentitiesOnly yes
  UserKnownHostsFile HOME/kh1 HOME/kh2
  GlobalKnownHostsFile none
  StrictHostKeyChecking accept-new
Host alias *.x
  Port 9999
Host hop.x
  ProxyJump a@one:33,two
Host quoted
  HostName "q.example"
  ProxyCommand nc %h %p
Match host matched
  Port 77
Match all
  ServerAliveInterval 5
`)
	for _, host := range []string{"alias", "inc", "hop.x", "quoted", "matched", "other"} {
		byFile, _, err := resolveIn(t, home, "", host)
		must(t, err)
		byClient, _, err := resolveIn(t, home, program, host)
		must(t, err)
		if diff := cmp.Diff(byClient, byFile); diff != "" {
			t.Errorf("%s: the client's answer and the file's differ:\n%s", host, diff)
		}
	}
	got, _, err := resolveIn(t, home, "", "alias")
	must(t, err)
	want := resolved{
		Host: "real.example", User: "everyone", Alias: "logical", Port: 2200, Only: true, AcceptNew: true,
		Identities: []string{home + "/keys/real.example", home + "/keys/second"}, KnownHosts: []string{home + "/kh1", home + "/kh2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSSHC10WhatCantBeDoneIsAnError(t *testing.T) {
	for text, host := range map[string]string{
		"Match exec \"true\"\n  ProxyJump bastion\n": "h",
		"Host h\n  Include more\n":                   "h",
		"Host h\n  ProxyCommand nc %h %Z\n":          "h",
		"Host h\n  Port many\n":                      "h",
		"Host h\n  HostName -oProxyCommand=x\n":      "h",
		"Host h\n  IdentityAgent $SOCKET\n":          "h",
	} {
		home := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
		must(t, os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte(text), 0o600))
		_, _, err := resolveIn(t, home, "", host)
		wantKind(t, text, err, ops.KindUnavailable)
	}
}

func TestParseJump(t *testing.T) {
	type parts struct {
		User, Host string
		Port       int
	}
	for text, want := range map[string]parts{
		"h": {"", "h", 0}, "u@h": {"u", "h", 0}, "u@h:22": {"u", "h", 22}, "[::1]:33": {"", "::1", 33}, "::1": {"", "::1", 0},
		"ssh://u@h:1/": {"u", "h", 1}, "a@b@h": {"a@b", "h", 0},
	} {
		user, host, port, err := parseJump(text)
		if got := (parts{user, host, port}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"h:x", "h:0", "h:70000"} {
		if _, _, _, err := parseJump(bad); err == nil {
			t.Errorf("%s is no jump host", bad)
		}
	}
}
