package call

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/tool"
)

func names(list []tool.Tool) string {
	var names []string
	for _, t := range list {
		names = append(names, t.Info().Name)
	}
	return strings.Join(names, " ")
}

func TestToolboxActivates(t *testing.T) {
	b, err := NewToolbox([]tool.Tool{fake{name: "deploy"}, fake{name: "load"}, fake{name: "status"}}, "load")
	if err != nil {
		t.Fatal(err)
	}
	before := b.Active()
	b.Activate([]string{"status", "nothing", "status"})
	b.Activate([]string{"deploy", "load"})
	if d := cmp.Diff([]string{"load", "deploy load status"}, []string{names(before), names(b.Active())}); d != "" {
		t.Error(d)
	}
}

func TestToolboxRefuses(t *testing.T) {
	if _, err := NewToolbox([]tool.Tool{fake{name: "a"}, fake{name: "a"}}); err == nil || err.Error() != `two tools are named "a": rename one of them` {
		t.Errorf("%v", err)
	}
	if _, err := NewToolbox([]tool.Tool{fake{name: "a"}}, "b"); err == nil || err.Error() != `the active tool "b" is not registered` {
		t.Errorf("%v", err)
	}
}
