// Package match walks a tree and finds things in it: file names by glob,
// contents by regular expression, both under the rules of .gitignore. It works
// over a small interface, so every target that can list and read can be
// searched, with the same results in the same order.
//
// # Order
//
// Paths are compared segment by segment, bytewise; within a file, lines by number.
//
// # What is visited
//
// Everything, hidden names included, but .git, what is ignored, and files that
// a write of ours has not finished. Links are not followed, devices and FIFOs
// not opened. A start that is a link, lies in .git or is ignored is searched
// all the same.
//
// A .gitignore counts in every folder from the root down, with or without a
// repository, for what is below its folder (gitignore(5)). A .git cuts off the
// rules from above it; as a folder, its info/exclude counts, after all
// .gitignore files. Nothing else does: no .ignore, no global excludes, nothing
// above the root.
//
// # Contents
//
// Patterns have the syntax of package regexp and match within a line. They run
// as an automaton that reads each byte once, behind a search for a text that
// every match holds, where there is one; so no pattern takes exponential time,
// and neither long lines nor large files take memory. A file is binary if its
// first 8 KiB hold a zero byte or if one comes before the end of a matching
// line; it is named once, in place of the rest of its matches.
package match
