// Package wire is the composition root: it alone knows every backend. It turns
// the address of a workspace into a connected set of operations, and the name
// of a model into a provider, and owns their lives.
package wire
