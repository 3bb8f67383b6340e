//go:build !noproviders

package wire

import (
	"github.com/piremote/piremote/agent/llm/fantasyllm"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/config"
)

// levelOf takes the thinking level off the end of a model's id.
func levelOf(id string) (model, level string) { return thinkingLevel(id) }

// catalogue lists the models whose provider's key is there.
func catalogue(cfg *config.Config, getenv func(string) string) []session.ModelInfo {
	keys := map[string]bool{}
	var list []session.ModelInfo
	for _, m := range fantasyllm.Models() {
		there, asked := keys[m.Provider]
		if !asked {
			name := fantasyllm.KeyVariable(m.Provider)
			for _, p := range cfg.Providers {
				if p.Name == m.Provider {
					name = or(p.APIKeyEnv, name)
				}
			}
			there = name != "" && getenv(name) != ""
			keys[m.Provider] = there
		}
		if there {
			list = append(list, info(m))
		}
	}
	return list
}

// catalogued is what the catalogue knows of a model.
func catalogued(provider, id string) (session.ModelInfo, bool) {
	for _, m := range fantasyllm.Models() {
		if m.Provider == provider && m.ID == id {
			return info(m), true
		}
	}
	return session.ModelInfo{}, false
}

func info(m fantasyllm.Model) session.ModelInfo {
	i := session.ModelInfo{
		ID: m.ID, Name: m.Name, Provider: m.Provider, Reasoning: m.Reasoning, Input: []string{"text"},
		ContextWindow: m.ContextWindow, MaxTokens: m.MaxOutput, ThinkingLevels: m.ThinkingLevels,
		Cost: session.ModelCost{Input: m.CostIn, Output: m.CostOut, CacheRead: m.CostCacheRead, CacheWrite: m.CostCacheWrite},
	}
	if m.Vision {
		i.Input = append(i.Input, "image")
	}
	return i
}
