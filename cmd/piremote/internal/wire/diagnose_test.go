package wire

import (
	"strings"
	"testing"
	"time"
)

func TestTargetFindings(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		said, name string
		ok         bool
		detail     string
		mend       string
	}{
		{"rg=/usr/bin/rg\n", "rg", true, "/usr/bin/rg", ""},
		{"rg=\n", "rg", true, "not there", "install the package ripgrep"},
		{"git=/usr/bin/git\n", "git", true, "/usr/bin/git", ""},
		{"git=\n", "git", true, "not there", "install the package git"},
		{"disk=2097152\n", "disk", true, "2048 MB free", ""},
		{"disk=1024\n", "disk", false, "1 MB free", "free some space"},
		{"clock=1800000060\n", "clock", true, "-1m0s", ""},
		{"clock=1800003600\n", "clock", false, "-1h0m0s", "set the clock"},
		{"clock=1799990000\n", "clock", false, "2h46m40s", "set the clock"},
	} {
		found := false
		for _, f := range targetFindings(c.said, now) {
			if f.Name != c.name {
				continue
			}
			found = true
			if f.OK != c.ok || !strings.Contains(f.Detail, c.detail) || (f.Mend == "") != (c.mend == "") || !strings.Contains(f.Mend, c.mend) {
				t.Errorf("%q: %+v", c.said, f)
			}
		}
		if !found {
			t.Errorf("%q: nothing is said about %s", c.said, c.name)
		}
	}
	if list := targetFindings("disk=many\nnoise\n", now); len(list) != 2 {
		t.Errorf("what can't be read is left out: %+v", list)
	}
}

func TestReasonsTellWhyThereIsNoHelper(t *testing.T) {
	var told []string
	r := &reasons{next: func(s string) { told = append(told, s) }}
	if got := r.withoutHelper(); got != "it is switched off" {
		t.Error(got)
	}
	r.notice("ssh://h: the host says hello")
	r.notice("ssh://h: working without the helper: every folder is noexec")
	if got := r.withoutHelper(); got != "every folder is noexec" || len(told) != 2 {
		t.Errorf("%q, %q", got, told)
	}
}
