package tools

import (
	"strings"
	"testing"

	"github.com/piremote/piremote/tools/ops"
)

// The model learns where the replaced file is if somebody still writes to it.
func TestMUTQ04KeptVersionIsTold(t *testing.T) {
	if got := keptAs(ops.WriteReport{}); got != "" {
		t.Errorf("nothing was kept: %q", got)
	}
	if got := keptAs(ops.WriteReport{Kept: "a\x1b.orig"}); !strings.Contains(got, ".orig") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
