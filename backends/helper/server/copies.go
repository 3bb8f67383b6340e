//go:build linux

package server

import (
	"path/filepath"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/internal/programs"
)

// Copies returns the helpers of other versions in a helper's folder than the one
// whose file is named own.
func Copies(cache, own string) ([]helper.Copy, error) { return programs.Others(cache, own) }

// RemoveCopies removes those of them that nobody uses, and returns what was there.
func RemoveCopies(cache, own string) ([]helper.Copy, error) { return programs.Remove(cache, own, 0) }

// use says that this process uses its program, until stop is called, and removes
// others that nobody has used for long: only who looks at their locks can know.
// Where that is not possible nothing is removed, which harms nobody.
func (o Options) use() (stop func()) {
	if o.Cache == "" || o.Program == "" {
		return func() {}
	}
	held, err := programs.Hold(filepath.Join(o.Cache, o.Program))
	go func() { _, _ = programs.Remove(o.Cache, o.Program, programs.Unused) }()
	return func() {
		if err == nil {
			_ = held.Close()
		}
	}
}
