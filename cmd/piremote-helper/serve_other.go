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

// sessions says the same.
func sessions(word string, _, stderr io.Writer) int { return serve(word, stderr) }
