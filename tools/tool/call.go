package tool

import (
	"context"
	"encoding/json"
)

// Call is one validated request to run a tool.
type Call struct {
	// ID correlates events, logs and the result message.
	ID string
	// Args is the JSON object that was validated; it is never modified.
	Args json.RawMessage
	// Scope is where and for whom the call runs. The zero value is legal: the
	// tool then uses the folder it was built with.
	Scope Scope
}

// Scope is the context of one call, built when the call starts and never
// captured from earlier.
type Scope struct {
	// Dir is the absolute working folder on the target; relative paths resolve
	// against it.
	Dir string
	// Root is the confinement root on the target; empty means the backend's.
	Root string
	// SessionEnv holds the session variables for shell tools (PI_SESSION_ID …);
	// nil means that there is no session.
	SessionEnv map[string]string
	// SessionID names the session, for freshness memory and audit.
	SessionID string
	// ParentID names the session for which that one works, empty if there is none;
	// CorrelationID is the same for all that work for one purpose.
	ParentID, CorrelationID string
	// Lifetime ends with the session: background work may live as long.
	Lifetime context.Context //nolint:containedctx // a second lifetime beside the call's own (docs/architecture.md)
	// Vision reports whether the model that asked can see images; nil means yes.
	Vision *bool
}
