package fantasyllm

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/openai"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/piremote/piremote/agent/llm"
)

// Type is the wire that a provider speaks.
type Type string

// The wires.
const (
	Anthropic        Type = "anthropic"         // Messages API
	OpenAI           Type = "openai"            // OpenAI itself
	OpenAICompatible Type = "openai-compatible" // chat completions at a base URL
)

// Options says which model to ask, and how.
type Options struct {
	Provider string // its name in messages; for known providers also in the catalogue
	Type     Type   // empty: as the catalogue knows it
	Model    string
	APIKey   string
	BaseURL  string // empty: the provider's own
	// HTTPClient sends the requests; nil means http.DefaultClient. Its timeout
	// would cut long answers and should be zero.
	HTTPClient *http.Client
	// IdleTimeout ends an answer in which nothing happens for so long; 0 means
	// 5 minutes.
	IdleTimeout time.Duration
	// MaxOutput bounds an answer in tokens; 0 means what the catalogue says, or
	// 8192.
	MaxOutput int64
}

// provider asks one model.
type provider struct {
	options Options
	model   fantasy.LanguageModel
	known   Model // zero if the catalogue does not have it
}

// Open prepares a provider. Nothing is sent before the first request.
func Open(ctx context.Context, o Options) (llm.Provider, error) {
	known := find(o.Provider, o.Model)
	if o.Type == "" {
		o.Type = typeOf(o.Provider)
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 5 * time.Minute
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = known.MaxOutput
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 8192
	}
	if o.HTTPClient == nil {
		o.HTTPClient = http.DefaultClient
	}
	p, err := newProvider(o)
	if err != nil {
		return nil, err
	}
	model, err := p.LanguageModel(ctx, o.Model)
	if err != nil {
		return nil, fmt.Errorf("model %s/%s: %w", o.Provider, o.Model, err)
	}
	return &provider{options: o, model: model, known: known}, nil
}

func newProvider(o Options) (fantasy.Provider, error) {
	switch o.Type {
	case Anthropic:
		options := []anthropic.Option{anthropic.WithAPIKey(o.APIKey), anthropic.WithHTTPClient(o.HTTPClient), anthropic.WithName(o.Provider)}
		if o.BaseURL != "" {
			options = append(options, anthropic.WithBaseURL(o.BaseURL))
		}
		return anthropic.New(options...)
	case OpenAI:
		options := []openai.Option{openai.WithAPIKey(o.APIKey), openai.WithHTTPClient(o.HTTPClient), openai.WithName(o.Provider)}
		if o.BaseURL != "" {
			options = append(options, openai.WithBaseURL(o.BaseURL))
		}
		return openai.New(options...)
	case OpenAICompatible:
		if o.BaseURL == "" {
			return nil, fmt.Errorf("provider %s needs a base URL", o.Provider)
		}
		return openaicompat.New(openaicompat.WithBaseURL(o.BaseURL), openaicompat.WithAPIKey(o.APIKey),
			openaicompat.WithHTTPClient(o.HTTPClient), openaicompat.WithName(o.Provider))
	}
	return nil, fmt.Errorf("provider %q is not known: use anthropic or openai, or configure one with type and base_url (types: %v)",
		o.Provider, []Type{Anthropic, OpenAI, OpenAICompatible})
}

func typeOf(name string) Type {
	if known := []string{string(Anthropic), string(OpenAI)}; slices.Contains(known, name) {
		return Type(name)
	}
	return ""
}
