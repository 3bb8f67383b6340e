//go:build !linux

package main

import (
	"io"

	"github.com/piremote/piremote/backends/helper"
)

// guard says that there is no helper for this system.
func guard(_ []string, stderr io.Writer) int { return serve(helper.Guard, stderr) }
