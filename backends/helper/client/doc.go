// Package client is a workspace behind a helper: the operations of the contract
// over the protocol of package wire, one round trip each. See [Open].
//
// When a connection is lost, the next call that needs it makes it anew. Reads are
// repeated once. Of a change it is asked what became of it, by its name, and the
// call ends with the true result; a command is taken up again where its output
// broke off if the session at the target still lives. Where nobody can tell, the
// error has ops.KindOutcomeUnknown.
package client
