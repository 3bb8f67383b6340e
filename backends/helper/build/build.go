// Package build makes the helper program from its source, for make build and for
// tests.
package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Package is the import path of the helper's command.
const Package = "github.com/piremote/piremote/cmd/piremote-helper"

// Program builds the helper for Linux on an architecture, as Go names it, from the
// module that the folder dir lies in. It is static and stripped, it runs on every
// processor of the architecture, and the same source gives the same bytes, wherever
// it lies.
func Program(ctx context.Context, dir, goarch string) ([]byte, error) {
	out, err := os.MkdirTemp("", "piremote-build-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(out) }() // nothing of use is left
	file := filepath.Join(out, "helper")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, Package) //nolint:gosec // constants and a path of our own
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch, "GOAMD64=v1", "GOARM64=v8.0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the helper for linux/%s: %w\n%s", goarch, err, text)
	}
	return os.ReadFile(file) //nolint:gosec // in a folder of our own
}
