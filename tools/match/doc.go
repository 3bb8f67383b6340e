// Package match walks a tree and finds things in it: file names by glob,
// contents by regular expression, both under the rules of .gitignore. It works
// over a three-method interface, so every target that can list and read can be
// searched, with the same results in the same order.
//
// The order is that of paths, compared segment by segment, bytewise; within a
// file, that of lines.
package match
