// Package agent runs the loop of a coding agent: it calls a model, runs the
// tools that the model asks for, gives it the results, and ends when nothing
// more is asked. It knows tools and a provider; it knows no workspace, no
// terminal and no file format.
//
// Everything that happens is told as one of ten events. Listeners are awaited in
// the order of registration, after the agent's state already shows what the
// event tells, and each event is a barrier: nothing further happens before its
// last listener has returned. Only updates of running tools overlap; they are
// joined before their call ends. A listener that fails ends the run visibly, and
// never costs a result: each tool call in the conversation has exactly one.
// docs/events.md has the rules.
//
// An answer that fails on the way ends its turn with the stop reason error. If a
// new attempt may help it is taken out of the conversation and asked for again
// in the next turn of the same run; see Retry.
package agent
