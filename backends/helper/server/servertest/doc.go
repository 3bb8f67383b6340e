// Package servertest runs the helper's server in one process, over links in memory:
// all that a test waits for is within it, so that it can have a clock of its own
// (testing/synctest).
package servertest
