// Package install carries the helper program to a target and starts it there.
//
// A [Bundle] holds the program for each kind of machine. [Start] needs a way to
// start one program on the target, an [Exec], and gives back the streams of the
// running helper. On a target with a POSIX shell that takes one exec: a constant
// script looks for the program in a private folder, hashes it with the target's
// own tools and becomes it; if it is not there the script asks for it over the
// same streams. A target without a shell takes files by other means, see
// [Carrier]. [Bundle.Extract] puts the program into a folder of this machine.
//
// The program is named by its SHA-256. It is hashed before every start, by the
// target's tools or by the client, never by its own word.
package install
