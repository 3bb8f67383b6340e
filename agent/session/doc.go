// Package session is the product around an agent: a conversation that is kept,
// that is compacted when it grows too long, whose failed answers are asked for
// again, and that a person steers from outside by a terminal, a wire or a
// program.
//
// A Session drives one agent.Agent. What the agent tells is passed on as Events,
// with what the session adds; subscribers are called synchronously. Hooks are a
// contract of their own: those that observe are isolated, those that may change
// or stop something are awaited in the order of registration.
//
// The conversation is a tree of entries (package store). What a model sees is the path from
// the root to the present leaf, after the last compaction on it.
package session
