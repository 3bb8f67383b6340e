// Package tool is the vocabulary that tools, the agent loop and the providers
// share: what a tool is called and accepts, how it runs, and what it returns.
//
// The three layers of the specification's chapter 5 meet here. A Declaration is
// all that a provider sees. A Tool adds how a call runs, and is all that the
// loop sees. Product concerns (the session, rendering) stay above, in
// agent/session. The package imports nothing but the standard library.
package tool
