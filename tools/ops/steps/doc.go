// Package steps does in several operations what an ability of the contract does
// in one: for workspaces without the ability, and for those that have it and run
// beside the files.
//
// All functions are safe for concurrent use. What one of them does is no single
// step: somebody else may change the file in between.
package steps
