package require_test

import (
	"testing"

	"github.com/piremote/piremote/internal/require"
)

func TestDemanded(t *testing.T) {
	t.Setenv("PIREMOTE_REQUIRE", "sshd,rg")
	for name, want := range map[string]bool{"sshd": true, "rg": true, "ssh": false, "": false} {
		if got := require.Demanded(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// recorder notes how a test would have ended.
type recorder struct {
	testing.TB
	failed, skipped bool
}

func (*recorder) Helper()                 {}
func (r *recorder) Fatalf(string, ...any) { r.failed = true }
func (r *recorder) Skipf(string, ...any)  { r.skipped = true }

func TestMissing(t *testing.T) {
	t.Setenv("PIREMOTE_REQUIRE", "rg")
	var there, other recorder
	require.Missing(&there, "rg", "not installed")
	require.Missing(&other, "git", "not installed")
	if !there.failed || other.failed || !other.skipped {
		t.Errorf("%+v, %+v", there, other)
	}
}
