// Package call is the only executor of tools: the agent's loop, the command
// line and the protocol servers all run a call through it, so that lookup,
// validation, hooks and policy hold everywhere.
//
// The way of one call: look up by exact name, prepare old argument shapes,
// validate, hooks that may change the input, validate again if one did, hooks
// that may block, execute with updates, hooks that patch the result.
package call
