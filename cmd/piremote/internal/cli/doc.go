// Package cli is the command line: one file a command, and one table from
// errors to exit codes.
package cli
