// Package faultproxy is a TCP proxy for tests that makes a link slow, narrow,
// silent or broken at a chosen moment, and counts what passes.
//
// Latency is added to each direction on its own, so that requests sent one
// behind the other overlap as they do on a real link. Traffic counters and
// direction switches say how often a protocol waited for an answer.
package faultproxy
