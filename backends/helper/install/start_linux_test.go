//go:build linux

package install

import (
	"path/filepath"
	"testing"
)

// shells are the POSIX shells of this machine.
func shells() map[string][]string {
	return map[string][]string{"sh": {"/bin/sh"}, "dash": {"dash"}, "bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}}
}

func TestFirstStartSendsAndLaterOnesTakeOneExec(t *testing.T) {
	b := bundle(t)
	for name, argv := range shells() {
		t.Run(name, func(t *testing.T) {
			dir, env := home(t)
			e := &machineExec{argv: argv, env: env}
			for i, uploaded := range []bool{true, false, false} {
				s, r, err := Start(t.Context(), e, b, Options{})
				must(t, err)
				talkTo(t, s)
				want := filepath.Join(dir, ".cache", "piremote", b.programs[0].name())
				if r.Uploaded != uploaded || r.Path != want || r.Hash != b.programs[0].Hash || len(r.Passed) > 0 || e.execs != i+1 || r.Execs != 1 {
					t.Errorf("start %d: %+v, %d execs", i+1, r, e.execs)
				}
			}
		})
	}
}
