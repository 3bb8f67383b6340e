package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/config"
)

// Model is a model that can be asked.
type Model struct {
	Provider llm.Provider
	Thinking string // the level that the model's name asks for; empty leaves it to the provider
}

// ModelProvider is a provider and what is known of its models.
type ModelProvider struct {
	Name        string
	Type        string // as configured; empty: as the catalogue knows it
	BaseURL     string // as configured; empty: its own
	KeyVariable string
	KeyNeeded   bool
	HasKey      bool
	Models      []ModelEntry // of the catalogue; none for a provider that it does not know
}

// ModelEntry is what the catalogue knows of a model.
type ModelEntry struct {
	ID                       string
	ContextWindow, MaxOutput int64 // tokens; 0 if it is not known
	Vision, Reasoning        bool
	ThinkingLevels           []string // none: a budget of tokens, if it reasons
	// US dollars for a million tokens.
	CostIn, CostOut, CostCacheRead, CostCacheWrite float64
}

// OpenModel opens the configured model: "scripted:FILE" reads answers from a file,
// "provider/id[:thinking]" asks a model.
func OpenModel(ctx context.Context, cfg *config.Config, getenv func(string) string) (Model, error) {
	if file, ok := strings.CutPrefix(cfg.Model, "scripted:"); ok {
		script, err := readScript(file)
		if err != nil {
			return Model{}, err
		}
		return Model{Provider: script.Provider(nil)}, nil
	}
	name, id, ok := strings.Cut(cfg.Model, "/")
	if !ok || name == "" || id == "" {
		if cfg.Model == "" {
			return Model{}, errors.New("no model is chosen: give --model provider/id, --model scripted:FILE, or set model in the configuration")
		}
		return Model{}, fmt.Errorf("model %q is not of the form provider/id or scripted:FILE", cfg.Model)
	}
	return modelOf(ctx, cfg, name, id, getenv)
}

// readScript reads a script; the ending .yaml may be left out.
func readScript(file string) (*scripted.Script, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if d, yamlErr := os.ReadFile(file + ".yaml"); yamlErr == nil {
			data, err = d, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("script %s can't be read: %w", file, err)
	}
	return scripted.Parse(file, data)
}
