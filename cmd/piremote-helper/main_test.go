package main

import (
	"runtime"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string // stderr: a part of it
	}{
		{[]string{helper.Version}, 0, "piremote-helper " + runtime.GOOS + "/" + runtime.GOARCH + "\n", ""},
		{nil, 2, "", `"" is none of supervise, version`},
		{[]string{"--help"}, 2, "", `"--help" is none of`},
		{[]string{helper.Supervise, "more"}, 2, "", "supervisor: "},
	} {
		var stdout, stderr strings.Builder
		code := run(c.args, &stdout, &stderr)
		if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) || (c.stderr == "") != (stderr.String() == "") {
			t.Errorf("%q: %d, %q, %q", c.args, code, stdout.String(), stderr.String())
		}
	}
}
