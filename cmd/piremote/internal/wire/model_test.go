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
