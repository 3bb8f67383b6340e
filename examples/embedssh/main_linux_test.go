package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/ssh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const session = `
turns:
  - toolCalls: [{name: read, arguments: {path: greeting.txt}}]
  - expect: [{contains: hello}]
    toolCalls: [{name: edit, arguments: {path: greeting.txt, edits: [{oldText: hello, newText: goodbye}]}}]
  - toolCalls: [{name: bash, arguments: {command: cat greeting.txt}}]
  - expect: [{contains: goodbye}]
    text: The greeting says goodbye.
`

func TestRun(t *testing.T) {
	server := servers.StartSSHD(t, servers.SSHDOptions{})
	here, there := server.Folder(t)
	file := filepath.Join(here, "greeting.txt")
	if err := os.WriteFile(file, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Parse("session", []byte(session))
	if err != nil {
		t.Fatal(err)
	}
	target := ssh.Options{
		Host: server.Host, Port: server.Port, User: server.User, Dir: there, Home: server.Home,
		IdentityFiles: []string{server.IdentityFile}, KnownHosts: []string{server.KnownHosts},
	}
	var out strings.Builder
	if err := run(t.Context(), target, script.Provider(nil), "say goodbye", &out); err != nil {
		t.Fatal(err)
	}
	if want := "read: error=false\nedit: error=false\nbash: error=false\nThe greeting says goodbye.\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "goodbye\n" {
		t.Errorf("%q, %v", text, err)
	}
}
