// Package backendtest is the conformance suite of backends: one check for each
// rule of the contract in tools/ops, run against a real target.
//
// A backend calls Run with a Harness that opens a workspace in a fresh folder.
// A Fixture makes and inspects things on the target behind the backend's back,
// so that a check never has to trust what it checks. Each check is a function
// that returns an error, and each is proved to fail on a workspace that breaks
// its rule (opstest.Broken).
//
// Checks speak of POSIX targets. Their scripts use shell built-ins and cat, seq,
// yes, head, sleep, mkdir, touch, rm, ln and setsid alone.
package backendtest
