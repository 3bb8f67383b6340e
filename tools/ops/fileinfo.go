package ops

import (
	"io/fs"
	"time"
)

// FileID identifies a file on its target; it is what Sys of a FileInfo returns.
type FileID struct {
	Device uint64
	Inode  uint64
}

// FileInfo is a fs.FileInfo of plain values, for backends that have no better.
type FileInfo struct {
	FileName string
	FileSize int64
	FileMode fs.FileMode
	Modified time.Time
	ID       FileID // zero if unknown
}

// Name returns the base name.
func (i FileInfo) Name() string { return i.FileName }

// Size returns the length in bytes.
func (i FileInfo) Size() int64 { return i.FileSize }

// Mode returns type and permission bits.
func (i FileInfo) Mode() fs.FileMode { return i.FileMode }

// ModTime returns the time of the last change.
func (i FileInfo) ModTime() time.Time { return i.Modified }

// IsDir reports whether it is a folder.
func (i FileInfo) IsDir() bool { return i.FileMode.IsDir() }

// Sys returns the FileID.
func (i FileInfo) Sys() any { return i.ID }

// DirEntry is a fs.DirEntry of plain values.
type DirEntry struct {
	EntryName string
	EntryType fs.FileMode // type bits only
}

// Name returns the base name, as the target's bytes.
func (e DirEntry) Name() string { return e.EntryName }

// IsDir reports whether the entry is a folder; a link to one is not.
func (e DirEntry) IsDir() bool { return e.EntryType.IsDir() }

// Type returns the type bits.
func (e DirEntry) Type() fs.FileMode { return e.EntryType.Type() }

// Info returns fs.ErrNotExist: entries carry no metadata.
func (e DirEntry) Info() (fs.FileInfo, error) {
	return nil, &fs.PathError{Op: "lstat", Path: e.EntryName, Err: fs.ErrNotExist}
}
