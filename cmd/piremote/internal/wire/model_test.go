//go:build !noproviders

package wire

import (
	"strings"
	"testing"

	"github.com/piremote/piremote/config"
)

func TestThinkingLevel(t *testing.T) {
	for id, want := range map[string][2]string{
		"claude-x": {"claude-x", ""}, "claude-x:high": {"claude-x", "high"}, "llama3:8b": {"llama3:8b", ""},
		"llama3:8b:off": {"llama3:8b", "off"}, ":high": {":high", ""}, "m:": {"m:", ""},
	} {
		if model, level := thinkingLevel(id); model != want[0] || level != want[1] {
			t.Errorf("%s: %s, %s", id, model, level)
		}
	}
}

// The key of a provider is looked for where its users keep it.
func TestModelKey(t *testing.T) {
	asked := ""
	getenv := func(name string) string { asked = name; return "" }
	for model, variable := range map[string]string{
		"anthropic/claude-x": "ANTHROPIC_API_KEY", "gemini/x": "GEMINI_API_KEY", "my-own/m": "MY_OWN_API_KEY", "named/m": "TEAM_KEY",
	} {
		cfg := &config.Config{Model: model, Providers: []config.Provider{{Name: "named", APIKeyEnv: "TEAM_KEY"}}}
		if _, err := OpenModel(t.Context(), cfg, getenv); asked != variable || err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s: asked for %s, %v", model, asked, err)
		}
	}
}

// A server of the user's own needs no key, unless the user names one.
func TestModelWithoutKey(t *testing.T) {
	none := func(string) string { return "" }
	cfg := &config.Config{Providers: []config.Provider{
		{Name: "local", Type: "openai-compatible", BaseURL: "http://127.0.0.1:11434/v1"},
		{Name: "team", Type: "openai-compatible", BaseURL: "http://127.0.0.1:11434/v1", APIKeyEnv: "TEAM_KEY"},
	}}
	cfg.Model = "local/llama3:8b"
	if m, err := OpenModel(t.Context(), cfg, none); err != nil || m.Provider == nil {
		t.Error(err)
	}
	cfg.Model = "team/m"
	if _, err := OpenModel(t.Context(), cfg, none); err == nil || !strings.Contains(err.Error(), "TEAM_KEY") {
		t.Error(err)
	}
}

func TestModelProviders(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"GEMINI_API_KEY": "secret"}[name] }
	cfg := &config.Config{Providers: []config.Provider{
		{Name: "local", Type: "openai-compatible", BaseURL: "http://127.0.0.1:1/v1"}, {Name: "anthropic", BaseURL: "https://proxy.example", APIKeyEnv: "PROXY_KEY"},
	}}
	list, err := ModelProviders(cfg, getenv)
	if err != nil || len(list) < 20 {
		t.Fatalf("%d providers, %v", len(list), err)
	}
	byName := map[string]ModelProvider{}
	for _, p := range list {
		byName[p.Name] = p
	}
	if p := byName["gemini"]; !p.HasKey || !p.KeyNeeded || p.KeyVariable != "GEMINI_API_KEY" || len(p.Models) == 0 || p.Models[0].ContextWindow == 0 {
		t.Errorf("%+v", p)
	}
	if p := byName["anthropic"]; p.HasKey || p.KeyVariable != "PROXY_KEY" || p.BaseURL != "https://proxy.example" || len(p.Models) == 0 {
		t.Errorf("%+v", p)
	}
	if p := list[len(list)-1]; p.Name != "local" || p.KeyNeeded || len(p.Models) != 0 {
		t.Errorf("%+v", p)
	}
}
