package wire

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/config"
)

// minSecret is the length from which the value of a variable is taken for a
// secret: shorter ones would blot out ordinary text.
const minSecret = 8

// Secrets are the values of the variables that hold keys of model providers,
// longest first.
func Secrets(env []string, cfg *config.Config) []string {
	names := secretNames()
	for _, p := range cfg.Providers {
		names = append(names, p.APIKeyEnv)
	}
	var list []string
	for _, name := range names {
		if v := lookup(env, name); len(v) >= minSecret && !strings.HasPrefix(name, "PI_") {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// Describe is what is known of a model of that name.
func Describe(name string) session.ModelInfo {
	if file, ok := strings.CutPrefix(name, "scripted:"); ok {
		id := strings.TrimSuffix(filepath.Base(file), ".yaml")
		return session.ModelInfo{Provider: "scripted", ID: id, Name: id, API: "scripted", Input: []string{"text", "image"}}
	}
	provider, id, _ := strings.Cut(name, "/")
	id, _ = levelOf(id)
	if known, ok := catalogued(provider, id); ok {
		return known
	}
	return session.ModelInfo{Provider: provider, ID: id, Name: id, Input: []string{"text"}}
}

// Available are the models that can be chosen: the configured one, and those of
// the catalogue whose provider's key is there.
func Available(cfg *config.Config, getenv func(string) string) []session.ModelInfo {
	now := Describe(cfg.Model)
	list := []session.ModelInfo{now}
	for _, m := range catalogue(cfg, getenv) {
		if m.Provider != now.Provider || m.ID != now.ID {
			list = append(list, m)
		}
	}
	return list
}
