// Package supervisor is the program that stands between the engine and one
// command: it is the parent to which the system gives every orphan of the
// command's tree, so that none is lost, whatever it does to its session, parents
// or environment. When whoever started it dies, it ends the tree.
//
// Its standard input is one end of a stream socket, the channel, over which it is
// asked and answers; see Message. The end of the channel asks it to end the tree
// and go. When a command has ended and nothing of its tree lives, the same
// supervisor takes the next command: starting one costs as much as starting a
// shell, so that this halves the cost of a command. Linux only.
package supervisor
