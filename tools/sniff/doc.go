// Package sniff tells from the leading bytes of a file what it holds, and makes
// images small enough for a model.
//
// Names and extensions are never consulted. Everything is pure and safe for
// concurrent use.
package sniff
