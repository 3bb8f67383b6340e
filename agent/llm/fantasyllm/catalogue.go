package fantasyllm

import (
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"github.com/piremote/piremote/tools/tool"
)

// Model is what the catalogue knows of a model.
type Model struct {
	Provider      string
	ID            string
	Name          string
	ContextWindow int64
	MaxOutput     int64
	Vision        bool
	Reasoning     bool
	// ThinkingLevels are what the model takes as levels; empty means that it takes
	// a budget of tokens, or none.
	ThinkingLevels []string
	// US dollars for a million tokens.
	CostIn, CostOut, CostCacheRead, CostCacheWrite float64
}

// Models lists the models of the catalogue that Open can ask, ordered as there.
func Models() []Model {
	var list []Model
	for _, p := range all() {
		if kind, _ := endpoint(p); kind == "" {
			continue
		}
		for _, m := range p.Models {
			list = append(list, modelOf(p, m))
		}
	}
	return list
}

func modelOf(p catwalk.Provider, m catwalk.Model) Model {
	read, write := cachePrices(m)
	return Model{
		Provider: string(p.ID), ID: m.ID, Name: m.Name, ContextWindow: m.ContextWindow, MaxOutput: m.DefaultMaxTokens,
		Vision: m.SupportsImages, Reasoning: m.CanReason, ThinkingLevels: m.ReasoningLevels,
		CostIn: m.CostPer1MIn, CostOut: m.CostPer1MOut, CostCacheRead: read, CostCacheWrite: write,
	}
}

// cachePrices reads the two prices of the catalogue: "in, cached" is that of
// writing to the cache and "out, cached" that of reading, except where the entry
// names only one, or one above the price of input, which reading never has.
// A price that is missing is that of input.
func cachePrices(m catwalk.Model) (read, write float64) {
	read, write = m.CostPer1MOutCached, m.CostPer1MInCached
	if (read == 0 || read > m.CostPer1MIn) && write > 0 && write < m.CostPer1MIn {
		read, write = write, 0
	}
	if read == 0 || read > m.CostPer1MIn {
		read = m.CostPer1MIn
	}
	if write == 0 {
		write = m.CostPer1MIn
	}
	return read, write
}

// KeyVariable names the environment variable in which users keep the key of a
// provider of the catalogue; it is empty for others.
func KeyVariable(provider string) string {
	name, _ := strings.CutPrefix(entry(provider).APIKey, "$")
	return name
}

// all is the catalogue. It is decoded once, when somebody asks for it: that takes
// as long as a short answer.
var all = sync.OnceValue(embedded.GetAll)

// entry is a provider of the catalogue, or the zero Provider.
func entry(name string) catwalk.Provider {
	if i := slices.IndexFunc(all(), func(p catwalk.Provider) bool { return string(p.ID) == name }); i >= 0 {
		return all()[i]
	}
	return catwalk.Provider{}
}

// endpoint is the wire of a provider of the catalogue and its address, which is
// empty where the library knows it; no wire means that Open can't ask it.
func endpoint(p catwalk.Provider) (Type, string) {
	address := p.APIEndpoint
	if strings.HasPrefix(address, "$") {
		address = ""
	}
	switch p.Type {
	case catwalk.TypeAnthropic:
		return Anthropic, address
	case catwalk.TypeOpenAI:
		if p.ID == catwalk.InferenceProviderOpenAI {
			return OpenAI, address
		}
		return OpenAICompatible, address
	case catwalk.TypeGoogle:
		return Google, address
	case catwalk.TypeOpenRouter:
		return OpenRouter, address
	case catwalk.TypeOpenAICompat, catwalk.TypeVercel:
		return OpenAICompatible, address
	case catwalk.TypeAzure, catwalk.TypeBedrock, catwalk.TypeVertexAI:
	}
	return "", ""
}

// find returns a model of a provider, or the zero Model.
func find(p catwalk.Provider, id string) Model {
	for _, m := range p.Models {
		if m.ID == id {
			return modelOf(p, m)
		}
	}
	return Model{}
}

// price adds what a usage costs.
func (m Model) price(u tool.Usage) tool.Usage {
	u.Cost = (float64(u.Input)*m.CostIn + float64(u.Output)*m.CostOut +
		float64(u.CacheRead)*m.CostCacheRead + float64(u.CacheWrite)*m.CostCacheWrite) / 1e6
	return u
}
