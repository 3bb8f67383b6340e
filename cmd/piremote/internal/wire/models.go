//go:build !noproviders

package wire

import (
	"slices"

	"github.com/piremote/piremote/agent/llm/fantasyllm"
	"github.com/piremote/piremote/config"
)

// ModelProviders lists the providers that can be asked: those of the catalogue by
// name, then those that the configuration adds. Keys are looked for by getenv and
// not returned. Nothing is asked over the network.
func ModelProviders(cfg *config.Config, getenv func(string) string) ([]ModelProvider, error) {
	byName := map[string]*ModelProvider{}
	var names, added []string
	add := func(name string) *ModelProvider {
		o, variable, needed := provider(cfg, name)
		p := &ModelProvider{Name: name, Type: string(o.Type), BaseURL: o.BaseURL, KeyVariable: variable, KeyNeeded: needed, HasKey: getenv(variable) != ""}
		byName[name] = p
		return p
	}
	for _, m := range fantasyllm.Models() {
		p := byName[m.Provider]
		if p == nil {
			names = append(names, m.Provider)
			p = add(m.Provider)
		}
		p.Models = append(p.Models, ModelEntry{
			ID: m.ID, ContextWindow: m.ContextWindow, MaxOutput: m.MaxOutput, Vision: m.Vision, Reasoning: m.Reasoning, ThinkingLevels: m.ThinkingLevels,
			CostIn: m.CostIn, CostOut: m.CostOut, CostCacheRead: m.CostCacheRead, CostCacheWrite: m.CostCacheWrite,
		})
	}
	for _, p := range cfg.Providers {
		if byName[p.Name] == nil {
			added = append(added, p.Name)
			add(p.Name)
		}
	}
	slices.Sort(names)
	var list []ModelProvider
	for _, name := range append(names, added...) {
		list = append(list, *byName[name])
	}
	return list, nil
}
