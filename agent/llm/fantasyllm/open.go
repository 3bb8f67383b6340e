package fantasyllm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/google"
	"charm.land/fantasy/providers/openai"
	"charm.land/fantasy/providers/openaicompat"
	"charm.land/fantasy/providers/openrouter"

	"github.com/piremote/piremote/agent/llm"
)

// Type is the wire that a provider speaks.
type Type string

// The wires.
const (
	Anthropic        Type = "anthropic"         // Messages API
	OpenAI           Type = "openai"            // OpenAI itself: the Responses API for the models that have it, else chat completions
	Google           Type = "google"            // Gemini API
	OpenRouter       Type = "openrouter"        // chat completions with OpenRouter's additions
	OpenAICompatible Type = "openai-compatible" // chat completions at a base URL
)

// Options says which model to ask, and how.
type Options struct {
	Provider string // its name in messages; for known providers also in the catalogue
	Type     Type   // empty: as the catalogue knows it
	Model    string
	APIKey   string
	BaseURL  string // empty: the provider's own, as the catalogue knows it
	// Headers are sent with every request, over the usual ones.
	Headers map[string]string
	// HTTPClient sends the requests; nil means http.DefaultClient. Its timeout
	// would cut long answers and should be zero.
	HTTPClient *http.Client
	// IdleTimeout ends an answer in which nothing happens for so long; 0 means
	// 5 minutes. Keep-alives of the connection are nothing (hazard PROV-02).
	IdleTimeout time.Duration
	// MaxOutput bounds an answer in tokens; 0 means what the catalogue says, or
	// 8192.
	MaxOutput int64
}

// provider asks one model.
type provider struct {
	options Options
	known   Model // zero if the catalogue does not have it
}

// Open prepares a provider. Nothing is sent before the first request, and
// nothing is read from the environment: keys and addresses come in as options.
func Open(ctx context.Context, o Options) (llm.Provider, error) {
	listed := entry(o.Provider)
	kind, address := endpoint(listed)
	if o.Type == "" {
		o.Type = kind
	}
	if o.BaseURL == "" && o.Type == kind {
		o.BaseURL = address
	}
	known := find(listed, o.Model)
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
	p := &provider{options: o, known: known}
	if _, err := p.model(ctx, &exchange{options: o}); err != nil {
		return nil, err
	}
	return p, nil
}

// model makes the library's model for one request; it keeps no connection of
// its own. The request goes through x.
func (p *provider) model(ctx context.Context, x *exchange) (fantasy.LanguageModel, error) {
	made, err := p.library(x)
	if err != nil {
		return nil, err
	}
	model, err := made.LanguageModel(ctx, p.options.Model)
	if err != nil {
		return nil, fmt.Errorf("model %s/%s: %w", p.options.Provider, p.options.Model, err)
	}
	return model, nil
}

func (p *provider) library(x *exchange) (fantasy.Provider, error) {
	o := p.options
	// With a key the library looks neither into the environment nor into files;
	// exchange sends it only if it is one.
	o.APIKey = cmp.Or(o.APIKey, "none")
	switch o.Type {
	case Anthropic:
		options := []anthropic.Option{
			anthropic.WithAPIKey(o.APIKey), anthropic.WithHTTPClient(x), anthropic.WithName(o.Provider), anthropic.WithHeaders(o.Headers),
		}
		if o.BaseURL != "" {
			options = append(options, anthropic.WithBaseURL(o.BaseURL))
		}
		return anthropic.New(options...)
	case OpenAI:
		options := []openai.Option{
			openai.WithAPIKey(o.APIKey), openai.WithHTTPClient(x), openai.WithName(o.Provider), openai.WithHeaders(o.Headers),
			openai.WithUseResponsesAPI(),
		}
		if o.BaseURL != "" {
			options = append(options, openai.WithBaseURL(o.BaseURL))
		}
		return openai.New(options...)
	case Google:
		if strings.Contains(o.Model, "claude") || strings.Contains(o.Model, "anthropic") {
			return nil, fmt.Errorf("model %s/%s is none of Google's: Claude models speak the wire anthropic", o.Provider, o.Model)
		}
		// The library reads the address from the environment if it is given none,
		// and adds the version itself.
		address := strings.TrimSuffix(strings.TrimSuffix(cmp.Or(o.BaseURL, googleURL), "/"), "/v1beta")
		return google.New(google.WithGeminiAPIKey(o.APIKey), google.WithBaseURL(address), google.WithName(o.Provider),
			google.WithHeaders(o.Headers), google.WithHTTPClient(&http.Client{Transport: x}))
	case OpenRouter:
		return openrouter.New(openrouter.WithAPIKey(o.APIKey), openrouter.WithHTTPClient(x), openrouter.WithHeaders(o.Headers))
	case OpenAICompatible:
		if o.BaseURL == "" {
			return nil, fmt.Errorf("provider %s needs a base URL", o.Provider)
		}
		return openaicompat.New(openaicompat.WithBaseURL(o.BaseURL), openaicompat.WithAPIKey(o.APIKey),
			openaicompat.WithHTTPClient(x), openaicompat.WithName(o.Provider), openaicompat.WithHeaders(o.Headers))
	}
	return nil, fmt.Errorf("provider %q is not known: take one of the catalogue, or configure one with type (%s, %s, %s, %s or %s) and base_url",
		o.Provider, Anthropic, OpenAI, Google, OpenRouter, OpenAICompatible)
}

// googleURL is where the Gemini API is.
const googleURL = "https://generativelanguage.googleapis.com/"
