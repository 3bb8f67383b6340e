package ops

import "context"

// Editor edits a file where the file is.
type Editor interface {
	// EditFile reads a regular file, makes all replacements at once, and
	// replaces the file as WriteFile does, as one step that no other change by
	// this ability, Replacer, TreeWriter or WriteFile at the target comes
	// between.
	//
	// It fails as ReadFile does (a file of more than Limit bytes is ErrTooLarge),
	// with a *MismatchError if the replacements don't apply, with ErrChanged if
	// the file is not the one that was read any more, and as WriteFile does. In
	// each case nothing is written, unless the error has KindOutcomeUnknown.
	EditFile(ctx context.Context, path string, req EditRequest) (EditReport, error)
}

// EditRequest asks for replacements in one file.
type EditRequest struct {
	// Name is how a *MismatchError and the patch call the file.
	Name string
	// Edits are matched against the original, each exactly once, and must not
	// overlap; see tools/textedit for what matches.
	Edits []Replacement
	// Limit is the size in bytes of a file that is edited at most; zero or less
	// means no limit.
	Limit int64
	// Expect is the SHA-256 of the content that is to be edited, in lower-case
	// hexadecimal: any other is ErrChanged. Empty means whatever the file holds.
	Expect string
}

// Replacement puts New in the place of Old. Both are literal.
type Replacement struct{ Old, New string }

// EditReport says what an edit did.
type EditReport struct {
	WriteReport
	// Before and After are the SHA-256 of the old and the new content, in
	// lower-case hexadecimal.
	Before, After string
	// Diff is for display, Patch for patch -p1; FirstChangedLine counts from 1 in
	// the new content; Tolerant lists the indexes of edits that matched only
	// tolerantly. They are what textedit.Apply says.
	Diff, Patch      string
	FirstChangedLine int
	Tolerant         []int
}

// MismatchError means that replacements do not apply to the content of a file.
type MismatchError struct {
	// Msg is the whole sentence for whoever asked for the edit.
	Msg string
	// Err is the error of tools/textedit; nil behind a target that can't send it.
	Err error
}

// Error returns Msg.
func (e *MismatchError) Error() string { return e.Msg }

// Unwrap returns Err.
func (e *MismatchError) Unwrap() error { return e.Err }

// TreeWriter writes a file and the folders above it where they are.
type TreeWriter interface {
	// WriteTree is WriteFile that makes the folders above the file, as MkdirAll
	// does, if they are missing. When that went well and writing the file fails
	// all the same, the error is a *TreeError.
	WriteTree(ctx context.Context, path string, data []byte) (WriteReport, error)
}

// TreeError means that the folders above a file were made, and that writing the
// file failed all the same.
type TreeError struct {
	Err error // what WriteFile would have returned
}

// Error returns the text of Err.
func (e *TreeError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *TreeError) Unwrap() error { return e.Err }

// Replacer replaces a file that is as the caller knows it, and no other.
type Replacer interface {
	// ReplaceFile is WriteFile if the file is as expected, as one step like that
	// of Editor. If it is not, also because it is missing, nothing is written and
	// the error is ErrChanged. What WriteFile refuses whatever the content, such
	// as a folder, fails as there.
	ReplaceFile(ctx context.Context, path string, expect Expect, data []byte) (WriteReport, error)
}

// Expect is what a caller knows of a file.
type Expect struct {
	Exists bool
	// Size is the number of bytes, and Hash the SHA-256 of the content in
	// lower-case hexadecimal, of a file that exists.
	Size int64
	Hash string
}
