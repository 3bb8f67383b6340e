package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// env is for docker workspaces, and each of its entries is checked.
func TestEnvOfADockerWorkspace(t *testing.T) {
	load := func(workspace string) (*Config, error) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte("workspaces:\n  - "+workspace+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Options{File: file, Getenv: func(string) string { return "" }})
	}
	c, err := load(`{name: box, backend: docker, container: app, env: ["A=b c", "D="]}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A=b c", "D="}, c.Workspaces[0].Env); diff != "" {
		t.Error(diff)
	}
	for workspace, want := range map[string]string{
		`{name: box, backend: docker, container: app, env: [A]}`:                 `"A" has not the form NAME=value`,
		`{name: box, backend: docker, container: app, env: ["=b"]}`:              `"=b" has not the form NAME=value`,
		`{name: here, backend: local, path: /x, env: [A=b]}`:                     "is for docker workspaces alone; a sandbox has sandbox.env",
		`{name: s, backend: sandbox, env: [A=b], sandbox: {image: "debian:12"}}`: "is for docker workspaces alone; a sandbox has sandbox.env",
	} {
		_, err := load(workspace)
		var bad *Error
		if !errors.As(err, &bad) || bad.Msg != want {
			t.Errorf("%s: %v", workspace, err)
		}
	}
}
