// Package proctree finds and ends the processes of one command.
//
// A process belongs to the command when it carries the command's marker in its
// environment, is in the command's session or in that of another member, or
// descends from a member or from a given ancestor. So a process is found after it
// left the session, or lost its parents, or cleared its environment; only one
// that did all of this without a supervisor above it is missed (hazards BASH-02,
// PROC-01 to PROC-05).
package proctree
