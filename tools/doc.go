// Package tools holds the eight tools: read, write, edit, bash, powershell,
// grep, find and ls. Each is implemented once against the Operations that it
// consumes, so its results are the same on every workspace.
//
// New builds the tools that a workspace can offer. Names and parameters are the
// protocol between a model and a workspace; limits are those of the
// specification: 2,000 lines or 50 KiB of text, 100 matches, 1,000 paths, 500
// entries. A failure is an error whose text tells the model what to change.
package tools
