package match

import (
	"context"
	"fmt"
	"io"
	"io/fs"
)

// Lister lists a tree. Paths are absolute, with slashes. Types of entries are
// those of the entries themselves; their order does not matter. The methods
// return soon after ctx has ended. Stat and ReadDir are called one at a time,
// beside ReadFile, unless the file system is an Opener.
type Lister interface {
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	ReadDir(ctx context.Context, path string, yield func(fs.DirEntry) bool) error
}

// FileSystem also reads. A limit of zero or less means none. ReadFile may be
// called concurrently.
type FileSystem interface {
	Lister
	ReadFile(ctx context.Context, path string, limit int64) ([]byte, error)
}

// Opener is an ability of a FileSystem: it can stream, so that memory does not
// grow with the size of files. Close frees a blocked Read. Only regular files
// are opened. All methods of such a file system may be called concurrently.
type Opener interface {
	Open(ctx context.Context, path string) (io.ReadCloser, error)
}

// SearchRequest asks for lines that match a pattern.
type SearchRequest struct {
	Root       string // the folder from which ignore files count
	Path       string // absolute folder or file to search
	Pattern    string // RE2, or literal text
	Literal    bool
	IgnoreCase bool
	Glob       string // narrows the files; empty means all
	Context    int    // lines before and after a match
	Limit      int    // matches at most; 0 means no limit
	MaxLine    int    // characters of a line at most; longer ones are cut around the match; 0 means 16384
}

// SearchLine is a match, a context line, or a note that a binary file matches.
type SearchLine struct {
	Path    string // relative to the searched folder; the base name if a file was searched
	Line    int    // from 1; 0 for a binary file
	Text    string // without its line end
	Context bool   // a neighbour of a match
	Binary  bool   // the file is binary and matches somewhere
	Cut     bool   // Text is only a part of the line
}

// SearchReport closes a search.
type SearchReport struct {
	Limited    bool     // stopped at the limit, and there was more
	Unreadable int      // paths that could not be read
	Notes      []string // what a degraded target could not give
}

// GlobRequest asks for paths that match a doublestar glob.
type GlobRequest struct {
	Root    string // the folder from which ignore files count
	Path    string // absolute folder to search
	Pattern string
	Limit   int // 0 means no limit
}

// PatternError says what is wrong with a pattern or a glob.
type PatternError struct {
	Kind    string // "pattern" or "glob"
	Pattern string
	Err     error
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("invalid %s %q: %v", e.Kind, e.Pattern, e.Err)
}

// Unwrap returns the cause.
func (e *PatternError) Unwrap() error { return e.Err }
