// Package ops is the contract between the tools and a machine: for each tool
// the few operations that it consumes, and the abilities that a backend may add.
//
// Every path is absolute on the target and uses the target's rules; a backend
// never looks at the client's file system for it. Bytes travel as they are: no
// formatting and no sentences for a model below this package.
//
// # Errors
//
// A file error is a *fs.PathError around a sentinel, on every backend, so that
// errors.Is works with fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, and with
// ErrIsDir, ErrNotDir, ErrNotRegular, ErrTooLarge, ErrNoSpace, ErrReadOnly,
// ErrOutside, ErrChanged and ErrLoop of this package. A fault of the way to the
// target is a *TransportError with one Kind. Replacements that do not apply to a
// file are a *MismatchError. Cancellation stays context.Canceled or
// context.DeadlineExceeded.
//
// # Cancellation and concurrency
//
// Every operation may be called concurrently. It returns soon after ctx ends
// (under a second where the target answers), and when it returns its effect has
// ended; where that cannot be known the error has KindOutcomeUnknown.
//
// # Abilities
//
// An ability is an extra interface of one method. Tools find it by type
// assertion on the operations they were given: Editor on Set.Edit, TreeWriter and
// Replacer on Set.Write, Canonicalizer, VersionReader and VersionWriter on either. Absent means absent, and no
// method returns "unsupported". Each ability gives the same answer as the plain
// path, only cheaper, and what changes a file is one step; the conformance suite
// of backends/backendtest proves it. Replacer and the two about versions have no plain path.
//
// The package imports nothing but the standard library.
package ops
