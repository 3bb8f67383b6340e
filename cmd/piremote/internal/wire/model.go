//go:build !noproviders

package wire

import (
	"context"
	"fmt"
	"strings"

	"github.com/piremote/piremote/agent/llm/fantasyllm"
	"github.com/piremote/piremote/config"
)

// modelOf opens a model of a provider that is configured or well known.
func modelOf(ctx context.Context, cfg *config.Config, name, id string, getenv func(string) string) (Model, error) {
	id, thinking := thinkingLevel(id)
	o := fantasyllm.Options{Provider: name, Model: id}
	keyName := or(fantasyllm.KeyVariable(name), strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"_API_KEY")
	for _, p := range cfg.Providers {
		if p.Name == name {
			o.Type, o.BaseURL = fantasyllm.Type(p.Type), p.BaseURL
			keyName = or(p.APIKeyEnv, keyName)
		}
	}
	if o.APIKey = getenv(keyName); o.APIKey == "" {
		return Model{}, fmt.Errorf("model %s/%s needs a key: set %s", name, id, keyName)
	}
	provider, err := fantasyllm.Open(ctx, o)
	return Model{Provider: provider, Thinking: thinking}, err
}

// thinkingLevel takes the level off the end of a model's id. What follows the last
// colon and is no level belongs to the id, as in "llama3:8b".
func thinkingLevel(id string) (model, level string) {
	if i := strings.LastIndexByte(id, ':'); i > 0 && fantasyllm.IsThinkingLevel(id[i+1:]) {
		return id[:i], id[i+1:]
	}
	return id, ""
}
