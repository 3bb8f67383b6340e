//go:build !linux

package main

import (
	"fmt"
	"io"

	"github.com/piremote/piremote/backends/helper"
)

// serve says that there is no helper for this system.
func serve(_ string, stderr io.Writer) int {
	_, _ = fmt.Fprintln(stderr, helper.Name+": it serves on Linux only") // nobody may be listening
	return usageStatus
}
