//go:build !linux

package local

import (
	"context"
	"io"
	"os"
)

// fileBeneath is an ability of Linux.
func (v *view) fileBeneath(context.Context, string) io.ReadCloser { return nil }

// folderBeneath is an ability of Linux.
func (v *view) folderBeneath(context.Context, string) *os.File { return nil }
