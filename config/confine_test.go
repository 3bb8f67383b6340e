package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConfineAndExtraRoots(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	load := func(text string, env map[string]string) (*Config, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Options{File: file, Getenv: func(name string) string { return env[name] }})
	}
	c, err := load("workspaces:\n- {name: a, backend: ssh, host: h, confine: strict, extra_roots: [/data]}\n", map[string]string{"PIREMOTE_EXTRA_ROOTS": "/a,/b:ro"})
	if err != nil || c.Confine != "on" || !slices.Equal(c.ExtraRoots, []string{"/a", "/b:ro"}) ||
		c.Workspaces[0].Confine != "strict" || !slices.Equal(c.Workspaces[0].ExtraRoots, []string{"/data"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = load("confine: off\n", nil); err != nil || c.Confine != "off" {
		t.Errorf("a word that YAML may take for a truth value: %+v, %v", c, err)
	}
	if c.Freshness != "on" {
		t.Errorf("freshness %q", c.Freshness)
	}
	if c, err = load("freshness: strict\n", nil); err != nil || c.Freshness != "strict" {
		t.Errorf("%+v, %v", c, err)
	}
	for text, words := range map[string]string{
		"freshness: off\n": "none of on, strict",
		"script_tools:\n- {name: a, command: 'true'}\n- {name: a, command: 'true'}\n": "used twice",
		"script_tools:\n- {name: a b, command: 'true'}\n":                             "can't be the name",
		"script_tools:\n- {name: \u00e4, command: 'true'}\n":                          "can't be the name",
		"script_tools:\n- {name: a}\n":                                                "needs both",
		"script_tools:\n- {name: a, command: 'true', where: here}\n":                  "none of workspace, client",
		"confine: maybe\n":      "on, strict, off",
		"extra_roots: [data]\n": "/path:ro",
		"workspaces:\n- {name: a, backend: ssh, host: h, confine: no}\n":          "none of on, strict, off",
		"workspaces:\n- {name: a, backend: ssh, host: h, extra_roots: [\"~\"]}\n": "workspaces[0].extra_roots",
	} {
		if _, err := load(text, nil); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
