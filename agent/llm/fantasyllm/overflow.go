package fantasyllm

import (
	"regexp"
	"strings"
)

// overflows are the words with which providers say that a request is longer than
// the model's context. Few of them have a code for it.
var overflows = []*regexp.Regexp{
	regexp.MustCompile(`prompt (is )?too long`),                                                     // Anthropic, z.ai, Ollama
	regexp.MustCompile(`prompt exceeds max length`),                                                 // z.ai
	regexp.MustCompile(`exceeds? the context window`),                                               // OpenAI
	regexp.MustCompile(`maximum context length`),                                                    // OpenAI, OpenRouter, vLLM, Mistral
	regexp.MustCompile(`context[ _](window|length)[ _]exceed`),                                      // LiteLLM, MiniMax and others
	regexp.MustCompile(`input token count.*exceeds the maximum`),                                    // Google
	regexp.MustCompile(`maximum prompt length is`),                                                  // xAI
	regexp.MustCompile(`reduce the length of the messages`),                                         // Groq
	regexp.MustCompile(`maximum allowed input length`),                                              // Poolside
	regexp.MustCompile(`longer than the model'?s context length`),                                   // Together
	regexp.MustCompile(`exceeds the available context size|greater than the context length`),        // llama.cpp, LM Studio
	regexp.MustCompile(`but the configured context size is`),                                        // local servers
	regexp.MustCompile(`exceeded model token limit|prompt token count of \d+ exceeds the limit of`), // Kimi, Copilot
	regexp.MustCompile(`range of input length should be|input too long: *\d+`),                      // Alibaba, Vercel
	regexp.MustCompile(`input is too long for requested model`),                                     // Bedrock behind a gateway
}

// tellsOverflow says whether an error tells that the context is full. What tells
// of a limit of the rate is never that.
func tellsOverflow(message string) bool {
	message = strings.ToLower(message)
	if strings.Contains(message, "rate limit") || strings.Contains(message, "too many requests") || strings.Contains(message, "per minute") {
		return false
	}
	for _, words := range overflows {
		if words.MatchString(message) {
			return true
		}
	}
	return false
}
