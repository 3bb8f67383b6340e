// Package compact decides what of a conversation a summary replaces when it gets
// too long for its model, and what the model that writes the summary is asked. It
// is arithmetic on messages: it asks no model, stores nothing and has no state.
package compact
