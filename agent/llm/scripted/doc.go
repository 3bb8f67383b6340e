// Package scripted is a model provider that reads its answers from a file: the
// whole agent runs without a network, for demonstrations, for tests of tools
// and policies, and for CI.
//
// A script is YAML (or JSON):
//
//	turns:
//	  - text: I will look first.
//	    toolCalls:
//	      - name: read
//	        arguments: {path: a.txt}
//	  - expect:
//	      - contains: hello
//	    text: Done.
//
// A turn may also have thinking, usage, a stopReason, a delay and an error: the
// fields of Turn.
//
// A turn answers one request. "expect" states what the results of the preceding
// turn's calls must be, in their order; what is not so ends the run with an
// *ExpectationError. Strings of answers are templates: {{.Name}} is a variable
// given when the script is opened, or a named group of an expectation's
// "capture" pattern.
package scripted
