package ops

import (
	"context"
	"time"
)

// Version tells the states of a file apart by signs that cost nothing to look at. A
// file of which they are equal was not changed, as far as the target's clock can tell
// two moments apart; one of which they differ may hold the same content all the same.
type Version struct {
	Size     int64
	Modified time.Time
	ID       FileID // zero where the target has none
}

// Known reports whether it is the version of a file at all.
func (v Version) Known() bool { return !v.Modified.IsZero() }

// Same reports whether both are known and the same, as far as both tell: a way to the
// target may know no identity, and seconds only.
func (v Version) Same(o Version) bool {
	if v.Modified.Nanosecond() == 0 || o.Modified.Nanosecond() == 0 {
		v.Modified, o.Modified = v.Modified.Truncate(time.Second), o.Modified.Truncate(time.Second)
	}
	if v.ID == (FileID{}) || o.ID == (FileID{}) {
		v.ID, o.ID = FileID{}, FileID{}
	}
	return v.Known() && v.Size == o.Size && v.ID == o.ID && v.Modified.Equal(o.Modified)
}

// VersionReader reads a file and says what state of it was read.
type VersionReader interface {
	// ReadVersion is ReadFile. The version was looked at before the content was
	// read; it is zero where the target can't tell.
	ReadVersion(ctx context.Context, path string, limit int64) ([]byte, Version, error)
}

// VersionWriter replaces a file that is as the caller knows it, for targets that have
// no Replacer.
type VersionWriter interface {
	// WriteVersion is WriteFile if the file at path is of this version. If it is not,
	// also because it is missing or the version is zero, nothing is written and the
	// error is ErrChanged. The last look is right before the change; what comes
	// between the two is lost.
	WriteVersion(ctx context.Context, path string, version Version, data []byte) (WriteReport, error)
}
