package backendtest_test

import (
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/tools/ops/opstest"
)

func TestMemoryConforms(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{Name: "memory", Open: func(testing.TB) backendtest.Workspace {
		m := opstest.NewMemory(opstest.Options{})
		return backendtest.Workspace{Set: m.Set(), Fixture: m, Close: m.Close}
	}})
}
