// Package llm is what the agent knows of language models: messages, the events
// of a streamed answer, and the one interface that a provider implements. The
// adapters are packages of their own below it.
package llm
