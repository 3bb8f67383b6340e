package wire

import (
	"context"
	"fmt"
	"strings"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/fantasyllm"
	"github.com/piremote/piremote/config"
)

// modelProvider opens a model of a provider that is configured or well known.
func modelProvider(cfg *config.Config, name, id string, getenv func(string) string) (llm.Provider, error) {
	id, _, _ = strings.Cut(id, ":") // the thinking level
	o := fantasyllm.Options{Provider: name, Model: id}
	keyName := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_API_KEY"
	for _, p := range cfg.Providers {
		if p.Name == name {
			o.Type, o.BaseURL = fantasyllm.Type(p.Type), p.BaseURL
			keyName = or(p.APIKeyEnv, keyName)
		}
	}
	if o.APIKey = getenv(keyName); o.APIKey == "" {
		return nil, fmt.Errorf("model %s/%s needs a key: set %s", name, id, keyName)
	}
	return fantasyllm.Open(context.Background(), o)
}
