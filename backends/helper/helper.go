// Package helper names what the helper program and those who start it agree on
// before any protocol is spoken. It imports nothing, since both sides do it.
//
// The helper is the local engine on another machine: one static program that is
// carried to a target by package install and speaks over its standard streams.
package helper

// Name is the program's name.
const Name = "piremote-helper"

// The words that the program understands as its first argument.
const (
	// Serve speaks the protocol on the standard streams. The argument after it
	// is the random marker of this start.
	Serve = "serve"
	// Reside is the process of a session that outlives its connections; Serve
	// starts it, with a socket as its standard input.
	Reside = "reside"
	// Supervise watches over one command after another; see package supervisor.
	Supervise = "supervise"
	// Guard is the main process of a container that has nothing else to do: it reaps
	// what has no parent any more, and ends after the seconds that are its argument.
	Guard = "guard"
	// Version prints VersionLine and nothing else.
	Version = "version"
)

// Locks is the folder beside the program with the locks that all processes of an
// account take on the files that they change.
const Locks = "locks"

// Policy says whether the helper is used on a target.
type Policy string

// The policies; the zero value means Auto.
const (
	Auto    Policy = "auto"    // where it runs; elsewhere other means, and a notice why
	Require Policy = "require" // opening fails where it does not run
	Never   Policy = "never"
)

// VersionLine is what a program for a system and an architecture, as Go names
// them, says when it is asked for its version. Who carried it to a target learns
// from that whether it runs there.
func VersionLine(goos, goarch string) string { return Name + " " + goos + "/" + goarch }
