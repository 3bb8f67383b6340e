//go:build noproviders

package wire

import (
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/config"
)

// Without providers there is no catalogue.

func levelOf(id string) (model, level string) { return id, "" }

func catalogue(*config.Config, func(string) string) []session.ModelInfo { return nil }

func catalogued(string, string) (session.ModelInfo, bool) { return session.ModelInfo{}, false }
