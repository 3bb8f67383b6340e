// Package posix is the agentless engine: every operation of tools/ops carried
// out by a POSIX sh on a target where nothing of ours is installed. The SSH and
// Docker backends share it and differ only in the Runner that starts the shell.
//
// No value of a caller ever reaches an argument vector: argv is constant text
// of this package, and everything else travels over the shell's stdin.
package posix
