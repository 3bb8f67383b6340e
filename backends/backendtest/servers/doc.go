// Package servers starts real servers for tests, on Unix: a private sshd and a
// dockerd, on loopback and on sockets of their own, with their own keys and
// data. They are ready when a function returns, print their logs if a test
// fails, and end with it. Nothing is pulled: images are made from BusyBox.
//
// dockerd is shared by all test processes of the machine that use it at the same
// time; see StartDockerd and KeepDockerd. A daemon that is there anyway is used
// instead.
//
// A server that can't be started skips the test, or fails it if the environment
// variable PIREMOTE_REQUIRE names it (a list with commas: sshd, dockerd,
// busybox, debootstrap).
package servers
