package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/piremote/piremote/backends/helper/install"
)

// supervisor returns the helper for this machine, which watches over commands as a
// supervisor: it is put into the first private folder that takes it. Where there is
// none, it is nil, the workspace tells what is weaker without it, and the user
// is told why.
func supervisor(b install.Bundle, o Options) *install.Extracted {
	var reasons []string
	for _, dir := range cacheFolders(o.Env) {
		program, err := b.Extract(dir)
		if err == nil {
			return program
		}
		if absent := new(install.AbsentError); errors.As(err, &absent) {
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	o.Notice("No folder can hold the program that watches over commands here: " + strings.Join(reasons, "; ") + ".")
	return nil
}

// cacheFolders are where a program of ours may lie, the best first.
func cacheFolders(env []string) []string {
	var list []string
	home := lookup(env, "HOME")
	if cache := or(lookup(env, "XDG_CACHE_HOME"), underHome(home, "~/.cache")); filepath.IsAbs(cache) {
		list = append(list, filepath.Join(cache, "piremote"))
	}
	if runtime := lookup(env, "XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		list = append(list, filepath.Join(runtime, "piremote"))
	}
	return append(list, filepath.Join(os.TempDir(), "piremote-"+strconv.Itoa(os.Getuid())))
}
