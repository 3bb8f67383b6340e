// Package textedit replaces pieces of a file's text and leaves every other byte
// as it is.
//
// It works on bytes: line endings, trailing blanks, invalid UTF-8 and a byte
// order mark outside the replaced pieces stay (hazards EDIT-01, EDIT-02,
// EDIT-03, EDIT-07). All edits are matched against the original, each exactly
// once, all or none (EDIT-06). Both texts of an edit are literal (EDIT-05).
//
// The cost beyond one scan and one copy of the file follows the change: the
// diff and the patch are computed from the replaced spans, never from the two
// files.
//
// All functions are pure and safe for concurrent use.
package textedit
