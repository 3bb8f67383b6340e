// Package helpertest builds the helper for tests.
package helpertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/build"
	"github.com/piremote/piremote/backends/helper/install"
)

var built = sync.OnceValues(func() (install.Bundle, error) { //nolint:gochecknoglobals // built once for all tests of a process
	program, err := build.Program(context.Background(), ".", runtime.GOARCH)
	if err != nil {
		return install.Bundle{}, err
	}
	return bundle(program)
})

var echo = sync.OnceValues(func() (install.Bundle, error) { //nolint:gochecknoglobals // as above
	program, err := EchoProgram(context.Background(), runtime.GOARCH, runtime.GOARCH)
	if err != nil {
		return install.Bundle{}, err
	}
	return bundle(program)
})

func bundle(program []byte) (install.Bundle, error) {
	packed, err := install.Pack(program)
	if err != nil {
		return install.Bundle{}, err
	}
	p, err := install.NewProgram("linux", runtime.GOARCH, packed)
	return install.NewBundle(p), err
}

// Bundle returns the helper as the source has it, for Linux on this machine's
// architecture, built once for each test process.
func Bundle(tb testing.TB) install.Bundle {
	tb.Helper()
	b, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Echo returns a helper, built once for each test process, that says EchoGreeting
// and then sends back what it gets. When its input ends it says "bye" as its error
// output and ends with exit status 7.
func Echo(tb testing.TB) install.Bundle {
	tb.Helper()
	b, err := echo()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// EchoGreeting is the first line of an echoing helper that was started as it should
// be: with a marker, the file creation mask, in octal, and an environment without
// names of the script that started it.
func EchoGreeting(mask int) string { return fmt.Sprintf("hello 32 %03o []\n", mask) }

// EchoProgram builds the echoing helper for Linux on an architecture; its version
// says that it is for another one.
func EchoProgram(ctx context.Context, goarch, says string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "piremote-echo-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing of use is left
	file := filepath.Join(dir, "echo")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w -X 'main.version="+helper.VersionLine("linux", says)+"'", "-o", file, //nolint:gosec // constants
		"github.com/piremote/piremote/backends/helper/helpertest/testdata/echo")
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch), time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	return os.ReadFile(file) //nolint:gosec // in a folder of our own
}
