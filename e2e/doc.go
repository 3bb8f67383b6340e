// Package e2e tests the built binary as its users run it, on a local folder, a
// real sshd and a real container, and checks the import rules of the whole
// module.
package e2e
