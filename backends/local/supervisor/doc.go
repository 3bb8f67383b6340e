// Package supervisor is the program that stands between the engine and one
// command: it is the parent to which the system gives every orphan of the
// command's tree, so that none is lost, whatever it does to its session, parents
// or environment. When whoever started it dies, it ends the tree.
//
// It reads its input: a line with milliseconds asks to end the tree with that
// grace, the end of the input to end it at once. It reports on descriptor 3, one
// JSON object a line. Linux only.
package supervisor
