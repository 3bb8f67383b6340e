package ops

import (
	"context"
	"io/fs"
)

// ReadOperations is what the read tool consumes.
type ReadOperations interface {
	// Access fails unless path is a regular file that can be read. It never
	// blocks on a FIFO or a device: those are ErrNotRegular, a folder ErrIsDir.
	Access(ctx context.Context, path string) error
	// ReadFile returns the whole content of a regular file of at most limit
	// bytes, else ErrTooLarge. A limit of zero or less means no limit. Files
	// that claim size 0 (as in /proc) are read to their end. A short read is an
	// error, never a shorter success. The caller owns the returned bytes.
	ReadFile(ctx context.Context, path string, limit int64) ([]byte, error)
}

// WriteOperations is what the write tool consumes.
type WriteOperations interface {
	// MkdirAll creates dir and its parents; an existing folder is no error.
	MkdirAll(ctx context.Context, dir string) error
	// WriteFile makes data the whole content of path, creating it if needed.
	//
	// It is atomic where the target can rename: a private temporary file in the
	// same folder, synced, renamed over the target; mode, owner and group of an
	// existing file are kept. The target of a symbolic link is written and the
	// link stays. A file with several hard links, or whose folder can't take a
	// new file, is written in place, which the report says. After an error the
	// old bytes are there, unless the error has KindOutcomeUnknown; no
	// temporary file stays. A file without write permission is an error even if
	// its folder would allow a rename.
	WriteFile(ctx context.Context, path string, data []byte) (WriteReport, error)
}

// WriteReport says how a file was written.
type WriteReport struct {
	Path    string // canonical path of the file that was written
	Created bool   // the file did not exist
	InPlace string // why the file was not replaced atomically; empty if it was
	// Kept is the name, in the same folder, under which the replaced file goes on:
	// another program had changed it after the last look, or has it open for writing.
	// Empty if there was none.
	Kept string
	// Version is that of the file as it was written, for a VersionWriter; zero if
	// unknown.
	Version Version
}

// EditOperations is what the edit tool consumes.
type EditOperations interface {
	ReadOperations
	WriteFile(ctx context.Context, path string, data []byte) (WriteReport, error)
}

// BashOperations is what the shell tools consume.
type BashOperations interface {
	// Exec runs one command to its end. See Command and Exit for what it
	// promises. output is called with the bytes of stdout and stderr in arrival
	// order, from one goroutine at a time, and never after Exec returned; it
	// must not keep the slice.
	//
	// A command that ran, whatever its exit code, signal or timeout, is an Exit
	// and no error. When ctx ends the tree is ended as for a timeout, and Exec
	// returns the Exit together with ctx's error. No exit status is
	// KindNoStatus. A missing folder or shell is an error and runs nothing.
	Exec(ctx context.Context, cmd Command, output func(Chunk)) (Exit, error)
}

// PowerShellOperations is what the powershell tool consumes.
type PowerShellOperations = BashOperations

// LsOperations is what the ls tool consumes.
type LsOperations interface {
	// Stat follows links. Sys of the result may be a FileID.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// ReadDir calls yield for each entry of the folder but "." and "..", in no
	// particular order, until yield returns false. Types are those of the
	// entries themselves, links included; nothing is stat'ed one by one. Info
	// of an entry may return an error.
	ReadDir(ctx context.Context, path string, yield func(fs.DirEntry) bool) error
}

// FindOperations is what the find tool consumes.
type FindOperations = LsOperations

// GrepOperations is what the grep tool consumes.
type GrepOperations interface {
	LsOperations
	ReadFile(ctx context.Context, path string, limit int64) ([]byte, error)
}
