package fantasyllm

import (
	"encoding/base64"
	"encoding/json"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/google"
	"charm.land/fantasy/providers/openai"

	"github.com/piremote/piremote/agent/llm"
)

// seal is a provider's signature of thinking, or the data that stands for the
// thinking. It is text on every wire: Anthropic's own, Google's in base64, and on
// OpenRouter, where the model's maker decides, JSON that names the maker.
type seal struct {
	signature string
	redacted  bool
}

// openRouterSeal is the JSON of a seal of OpenRouter's; one field is set.
type openRouterSeal struct {
	Anthropic string          `json:"anthropic,omitempty"`
	Google    *googleSeal     `json:"google,omitempty"`
	OpenAI    *openAIThinking `json:"openai,omitempty"`
}

type googleSeal struct {
	Signature string `json:"signature"`
	ToolID    string `json:"toolId,omitempty"`
}

type openAIThinking struct {
	ItemID    string   `json:"id"`
	Encrypted string   `json:"encrypted"`
	Summary   []string `json:"summary"`
}

// sealOf returns the seal that a part of an answer brings; the zero seal is none.
func sealOf(meta fantasy.ProviderMetadata, wire Type) seal {
	switch wire {
	case Anthropic:
		m, ok := meta[anthropic.Name].(*anthropic.ReasoningOptionMetadata)
		switch {
		case !ok || m == nil:
		case m.RedactedData != "":
			return seal{m.RedactedData, true}
		default:
			return seal{m.Signature, false}
		}
	case Google:
		if m, ok := meta[google.Name].(*google.ReasoningMetadata); ok && m != nil && m.Signature != "" {
			return seal{base64.StdEncoding.EncodeToString([]byte(m.Signature)), false}
		}
	case OpenRouter:
		return routerSeal(meta)
	case OpenAI, OpenAICompatible:
	}
	return seal{}
}

func routerSeal(meta fantasy.ProviderMetadata) seal {
	var s openRouterSeal
	if m, ok := meta[anthropic.Name].(*anthropic.ReasoningOptionMetadata); ok && m != nil {
		s.Anthropic = m.Signature
	}
	if m, ok := meta[google.Name].(*google.ReasoningMetadata); ok && m != nil && m.Signature != "" {
		s.Google = &googleSeal{m.Signature, m.ToolID}
	}
	if m, ok := meta[openai.Name].(*openai.ResponsesReasoningMetadata); ok && m != nil && m.EncryptedContent != nil {
		s.OpenAI = &openAIThinking{m.ItemID, *m.EncryptedContent, m.Summary}
	}
	if s.Anthropic == "" && s.Google == nil && s.OpenAI == nil {
		return seal{}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return seal{}
	}
	return seal{string(text), false}
}

// unsealed turns thinking back into what the wire takes; nil means that it takes
// none of it.
func unsealed(b *llm.Thinking, wire Type) fantasy.ProviderOptions {
	switch wire {
	case Anthropic:
		if b.Redacted {
			return fantasy.ProviderOptions{anthropic.Name: &anthropic.ReasoningOptionMetadata{RedactedData: b.Signature}}
		}
		return fantasy.ProviderOptions{anthropic.Name: &anthropic.ReasoningOptionMetadata{Signature: b.Signature}}
	case Google:
		if raw, err := base64.StdEncoding.DecodeString(b.Signature); err == nil {
			return fantasy.ProviderOptions{google.Name: &google.ReasoningMetadata{Signature: string(raw)}}
		}
	case OpenRouter:
		var s openRouterSeal
		if json.Unmarshal([]byte(b.Signature), &s) != nil {
			return nil
		}
		switch {
		case s.Anthropic != "":
			return fantasy.ProviderOptions{anthropic.Name: &anthropic.ReasoningOptionMetadata{Signature: s.Anthropic}}
		case s.Google != nil:
			return fantasy.ProviderOptions{google.Name: &google.ReasoningMetadata{Signature: s.Google.Signature, ToolID: s.Google.ToolID}}
		case s.OpenAI != nil:
			return fantasy.ProviderOptions{openai.Name: &openai.ResponsesReasoningMetadata{
				ItemID: s.OpenAI.ItemID, EncryptedContent: &s.OpenAI.Encrypted, Summary: s.OpenAI.Summary,
			}}
		}
	case OpenAI, OpenAICompatible:
	}
	return nil
}
