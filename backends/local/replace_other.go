//go:build unix && !linux

package local

import "os"

func (d *folder) temp(bool) (*tempFile, error) { return d.namedTemp() }

func (t *tempFile) linkAs(string) error { return errNoLink }

func (t *tempFile) renameNew(base string) error { return t.rename(base) }

// copyAttributes keeps nothing here: extended attributes of the old file are
// lost when it is replaced.
func copyAttributes(*os.File, *folder, string, entry) (string, error) { return "", nil }

func reserve(*os.File, int64, int64) error { return nil }
