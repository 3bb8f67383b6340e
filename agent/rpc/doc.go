// Package rpc drives a session by JSON lines: commands come in, responses and the
// session's events go out. docs/rpc.md describes the wire.
package rpc
