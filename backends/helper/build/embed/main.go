// Command embed builds the helpers for the architectures it is told and puts them,
// packed, into the folder that is built into piremote. It is run in the module.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/piremote/piremote/backends/helper/build"
	"github.com/piremote/piremote/backends/helper/install"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1) //nolint:forbidigo // the program's own end
	}
}

func run(ctx context.Context, arches []string) error {
	known := install.Arches()
	if len(arches) == 0 {
		return fmt.Errorf("name the architectures, of %v", known)
	}
	for _, arch := range arches {
		if !slices.Contains(known, arch) {
			return fmt.Errorf("there are no helpers for %s, but for %v", arch, known)
		}
	}
	for _, arch := range known {
		if !slices.Contains(arches, arch) {
			continue
		}
		program, err := build.Program(ctx, ".", arch)
		if err != nil {
			return err
		}
		packed, err := install.Pack(program)
		if err != nil {
			return err
		}
		file := filepath.Join("backends", "helper", "install", "embedded", install.FileName(arch))
		if err := replace(file, packed); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file in one step: a build that goes on meanwhile must not embed
// half of it.
func replace(file string, data []byte) error {
	temp := file + ".new"
	if err := os.WriteFile(temp, data, 0o644); err != nil { //nolint:gosec // a build product, for everyone
		return err
	}
	return os.Rename(temp, file)
}
