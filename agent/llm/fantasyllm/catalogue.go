package fantasyllm

import (
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
	// US dollars for a million tokens.
	CostIn, CostOut, CostCacheRead, CostCacheWrite float64
}

// Models lists the catalogue.
func Models() []Model {
	var list []Model
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			list = append(list, Model{
				Provider: string(p.ID), ID: m.ID, Name: m.Name, ContextWindow: m.ContextWindow, MaxOutput: m.DefaultMaxTokens,
				Vision: m.SupportsImages, Reasoning: m.CanReason,
				CostIn: m.CostPer1MIn, CostOut: m.CostPer1MOut, CostCacheWrite: m.CostPer1MInCached, CostCacheRead: m.CostPer1MOutCached,
			})
		}
	}
	return list
}

// find returns a model of the catalogue, or the zero Model.
func find(provider, id string) Model {
	for _, m := range Models() {
		if m.Provider == provider && m.ID == id {
			return m
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
