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
	o, variable, needed := provider(cfg, name)
	o.Model = id
	if o.APIKey = getenv(variable); o.APIKey == "" && needed {
		return Model{}, fmt.Errorf("model %s/%s needs a key: set %s", name, id, variable)
	}
	p, err := fantasyllm.Open(ctx, o)
	return Model{Provider: p, Thinking: thinking}, err
}

// provider is how a provider is asked and the variable that holds its key. One that
// is configured with an address of its own and no variable, such as a server on this
// machine, needs no key.
func provider(cfg *config.Config, name string) (o fantasyllm.Options, variable string, needed bool) {
	o = fantasyllm.Options{Provider: name}
	variable, needed = or(fantasyllm.KeyVariable(name), strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"_API_KEY"), true
	for _, p := range cfg.Providers {
		if p.Name == name {
			o.Type, o.BaseURL = fantasyllm.Type(p.Type), p.BaseURL
			variable, needed = or(p.APIKeyEnv, variable), p.APIKeyEnv != "" || p.BaseURL == ""
		}
	}
	return o, variable, needed
}

// thinkingLevel takes the level off the end of a model's id. What follows the last
// colon and is no level belongs to the id, as in "llama3:8b".
func thinkingLevel(id string) (model, level string) {
	if i := strings.LastIndexByte(id, ':'); i > 0 && fantasyllm.IsThinkingLevel(id[i+1:]) {
		return id[:i], id[i+1:]
	}
	return id, ""
}
