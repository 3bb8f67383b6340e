package fantasyllm

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/google"
	"charm.land/fantasy/providers/openai"
	"charm.land/fantasy/providers/openaicompat"
	"charm.land/fantasy/providers/openrouter"
)

// budgets are the tokens of thinking for models that take no level.
func budget(level string) int64 {
	switch level {
	case "minimal":
		return 1024
	case "low":
		return 4096
	case "medium":
		return 10240
	case "high":
		return 20480
	case "xhigh", "max":
		return 32768
	}
	return 0
}

// IsThinkingLevel says whether name is a level of thinking: off, minimal, low,
// medium, high, xhigh or max. Which of them a model takes is seen when it is asked.
func IsThinkingLevel(name string) bool { return name == "off" || budget(name) > 0 }

// think asks for a level of thinking: off, minimal, low, medium, high, xhigh or
// max. An empty level, and a model that does not reason, leave it to the
// provider. A level that the catalogue does not list for the model is an error.
func (p *provider) think(c *fantasy.Call, level string) error {
	if level == "" || level == "off" && !slices.Contains(p.known.ThinkingLevels, "none") || p.known.ID != "" && !p.known.Reasoning {
		return nil
	}
	if level == "off" {
		level = "none"
	}
	if levels := p.known.ThinkingLevels; len(levels) > 0 && !slices.Contains(levels, level) {
		return fmt.Errorf("model %s/%s has no thinking level %s; it has %s", p.options.Provider, p.options.Model, level, strings.Join(levels, ", "))
	}
	if budget(level) == 0 && level != "none" {
		return fmt.Errorf("there is no thinking level %q", level)
	}
	switch p.options.Type {
	case Anthropic:
		o := &anthropic.ProviderOptions{}
		if len(p.known.ThinkingLevels) > 0 {
			effort := anthropic.Effort(level)
			o.Effort = &effort
		} else {
			// The budget is part of the output and must leave room for an answer.
			tokens := min(budget(level), p.options.MaxOutput/2)
			if tokens < 1024 {
				return nil
			}
			o.Thinking = &anthropic.ThinkingProviderOption{BudgetTokens: tokens}
		}
		c.ProviderOptions = fantasy.ProviderOptions{anthropic.Name: o}
	case OpenAI:
		effort := openai.ReasoningEffort(level)
		var o fantasy.ProviderOptionsData = &openai.ProviderOptions{ReasoningEffort: &effort}
		if openai.IsResponsesModel(p.options.Model) {
			summary := "auto" // else nothing is heard of the thinking
			o = &openai.ResponsesProviderOptions{ReasoningEffort: &effort, ReasoningSummary: &summary}
		}
		c.ProviderOptions = fantasy.ProviderOptions{openai.Name: o}
	case Google:
		thinking := &google.ThinkingConfig{IncludeThoughts: new(true)}
		if len(p.known.ThinkingLevels) > 0 {
			thinking.ThinkingLevel = new(strings.ToUpper(level))
		} else {
			thinking.ThinkingBudget = new(min(budget(level), p.options.MaxOutput/2))
		}
		c.ProviderOptions = fantasy.ProviderOptions{google.Name: &google.ProviderOptions{ThinkingConfig: thinking}}
	case OpenRouter:
		effort := openrouter.ReasoningEffort(level)
		c.ProviderOptions = fantasy.ProviderOptions{openrouter.Name: &openrouter.ProviderOptions{
			Reasoning: &openrouter.ReasoningOptions{Effort: &effort},
		}}
	case OpenAICompatible:
		effort := openai.ReasoningEffort(level)
		c.ProviderOptions = fantasy.ProviderOptions{p.options.Provider: &openaicompat.ProviderOptions{ReasoningEffort: &effort}}
	}
	return nil
}
