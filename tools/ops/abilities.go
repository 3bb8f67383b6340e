package ops

import (
	"context"
	"io"
)

// Canonicalizer resolves a path as the target sees it. Links are followed; a
// part that does not exist is appended to its nearest existing ancestor. It is
// the key of the mutation queue. A path that leaves the confinement root is
// ErrOutside.
type Canonicalizer interface {
	Canonical(ctx context.Context, path string) (string, error)
}

// WindowReader reads some lines of a file where the file is.
type WindowReader interface {
	ReadWindow(ctx context.Context, path string, req WindowRequest) (Window, error)
}

// WindowRequest asks for lines of a file.
type WindowRequest struct {
	Offset   int // first line, from 1
	Limit    int // lines at most; at least 1
	MaxBytes int // bytes of whole lines at most; at least 1
}

// WindowHead is the number of leading bytes of the file that a Window carries.
const WindowHead = 4096

// Window is a part of a file.
type Window struct {
	// Data holds whole lines with their line feeds, the first of them line
	// Offset; empty when Offset is past the end or its line alone exceeds
	// MaxBytes.
	Data []byte
	// Lines is the number of lines in Data.
	Lines int
	// TotalLines is the number of lines of the file; a final line without a
	// line feed counts, the empty rest after the last line feed does not.
	TotalLines int
	// LineBytes is the length of line Offset when it alone exceeds MaxBytes.
	LineBytes int64
	// Size is the number of bytes of the file.
	Size int64
	// Head holds the first WindowHead bytes of the file, for recognising its kind.
	Head []byte
	// Invalid reports whether Data is not valid UTF-8.
	Invalid bool
	// Version is that of the file, for a VersionWriter; zero if unknown.
	Version Version
}

// Opener streams a file. The reader is not safe for concurrent use; Close is,
// and frees a blocked Read.
type Opener interface {
	Open(ctx context.Context, path string) (io.ReadCloser, error)
}

// Searcher searches file contents where the files are.
type Searcher interface {
	// Search calls yield for matches and context lines, ordered by path
	// (segment by segment, bytewise), then line, until yield returns false or
	// the limit is reached; the work at the target stops then.
	Search(ctx context.Context, req SearchRequest, yield func(SearchLine) bool) (SearchReport, error)
}

// SearchRequest asks for lines that match a pattern.
type SearchRequest struct {
	Root       string // the workspace folder from which ignore files count
	Path       string // absolute folder or file to search
	Pattern    string // RE2, or literal text
	Literal    bool
	IgnoreCase bool
	Glob       string // narrows the files; empty means all
	Context    int    // lines before and after a match
	Limit      int    // matches at most; 0 means no limit
	MaxLine    int    // characters of a line at most; longer ones are cut around the match
}

// SearchLine is a match, a context line, or a note that a binary file matches.
type SearchLine struct {
	Path    string // relative to the searched folder; the base name if a file was searched
	Line    int    // from 1; 0 for a binary file
	Text    string // without its line end, cut to MaxLine characters; may hold invalid UTF-8
	Context bool   // a neighbour of a match
	Binary  bool   // the file is binary and matches somewhere
	Cut     bool   // Text is only a part of the line
}

// SearchReport closes a search.
type SearchReport struct {
	Limited    bool     // stopped at the limit
	Unreadable int      // paths that could not be read
	Notes      []string // what a degraded target could not give
}

// Globber finds files by glob where the files are.
type Globber interface {
	// Glob calls yield with paths relative to req.Path, folders ending in "/",
	// in the order of Searcher, until yield returns false or the limit.
	Glob(ctx context.Context, req GlobRequest, yield func(path string) bool) (SearchReport, error)
}

// GlobRequest asks for paths that match a doublestar glob.
type GlobRequest struct {
	Root    string // the workspace folder from which ignore files count
	Path    string // absolute folder to search
	Pattern string
	Limit   int // 0 means no limit
}
