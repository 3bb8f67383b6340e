package wire

import (
	"slices"
	"strings"
)

// secretNames are variables that hold keys and tokens of model providers, or
// that belong to this program; commands never see them (hazard BASH-08).
func secretNames() []string {
	return []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
		"GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "CEREBRAS_API_KEY", "AZURE_OPENAI_API_KEY",
		"AZURE_OPENAI_KEY", "HF_TOKEN", "TOGETHER_API_KEY", "FIREWORKS_API_KEY", "ZAI_API_KEY", "MOONSHOT_API_KEY",
		"AI_GATEWAY_API_KEY", "OPENCODE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
		"PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL",
	}
}

// commandEnvironment is what local commands inherit: everything but secrets and
// the session's own variables. named adds further secrets.
func commandEnvironment(env []string, named ...string) []string {
	secret := append(secretNames(), named...)
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(secret, name) || strings.HasPrefix(name, "PIREMOTE_")
	})
}

// lookup finds a variable in an environment; the last of several wins.
func lookup(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if n, v, ok := strings.Cut(entry, "="); ok && n == name {
			value = v
		}
	}
	return value
}
