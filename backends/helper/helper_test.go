package helper

import (
	"testing"
	"time"
)

func TestLinesComeBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []Copy{{Name: "helper-ab", Size: 7, Used: now, InUse: true}, {Name: "helper-cd"}} {
		if got, ok := ParseCopy(c.Line()); !ok || got != c {
			t.Errorf("%q has become %+v, %t", c.Line(), got, ok)
		}
		if _, ok := ParseSession(c.Line()); ok {
			t.Errorf("%q was taken for a session", c.Line())
		}
	}
	for _, s := range []Session{{Name: "ab", State: SessionAlone, PID: 5, Since: now, Until: now}, {Name: "cd", State: SessionEnded}} {
		if got, ok := ParseSession(s.Line()); !ok || got != s {
			t.Errorf("%q has become %+v, %t", s.Line(), got, ok)
		}
		if _, ok := ParseCopy(s.Line()); ok {
			t.Errorf("%q was taken for a copy", s.Line())
		}
	}
	for _, line := range []string{"", "copy", "copy x 1 1", "copy x y 1 true", "copy x 1 y true", "copy x 1 1 maybe", "copy x 1 1 true more"} {
		if c, ok := ParseCopy(line); ok {
			t.Errorf("%q is %+v", line, c)
		}
	}
}
