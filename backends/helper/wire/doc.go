// Package wire is the protocol between a client and the helper, the engine that
// runs on a target: frames on one ordered stream, the messages that they carry,
// and how errors of the contract travel. docs/helper-protocol.md describes it.
//
// A decoder never trusts a length: what it allocates is bounded by the bytes that
// have arrived, and every fault of the other side is an [ErrProtocol].
package wire
