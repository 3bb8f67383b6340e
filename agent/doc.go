// Package agent runs the loop of a coding agent: it calls a model, runs the
// tools that the model asks for, gives it the results, and ends when nothing
// more is asked. It knows tools and a provider; it knows no workspace, no
// terminal and no file format.
//
// Everything that happens is told as one of ten events. Listeners are awaited in
// the order of registration, after the agent's state already shows what the
// event tells, and each event is a barrier: nothing further happens before its
// last listener has returned. Only updates of running tools overlap; they are
// joined before their call ends. docs/events.md has the rules.
package agent
