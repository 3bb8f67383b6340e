package ssh

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/tool"
)

// Without the helper too, what somebody else changed since it was shown is not
// overwritten, and an own change or a touch is no such thing.
func TestMUTQ03StaleWriteWithoutTheHelper(t *testing.T) {
	t.Parallel()
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	for _, by := range []FilesBy{FilesBoth, FilesSFTP, FilesShell} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			t.Parallel()
			g := openTarget(t, s, func(o *Options) { o.Files = by })
			list, err := tools.New(g.Set(), []string{"read", "write", "edit"}, tools.Options{})
			must(t, err)
			run := func(i int, args map[string]any) error {
				t.Helper()
				text, err := json.Marshal(args)
				must(t, err)
				_, err = list[i].Execute(t.Context(), tool.Call{ID: "1", Args: text}, func(tool.Result) {})
				return err
			}
			const read, edit, write = 0, 1, 2 // in the order of the tools
			p := g.put(t, "f", strings.Repeat("line\n", 3000)+"end\n", 0o644)
			must(t, run(read, map[string]any{"path": "f", "offset": 2999, "limit": 2}))
			must(t, os.WriteFile(p, []byte(strings.Repeat("line\n", 2999)+"LINE of somebody else\nend\n"), 0o644))
			if err := run(write, map[string]any{"path": "f", "content": "mine"}); err == nil || !strings.Contains(err.Error(), "it has changed since you last saw it") {
				t.Errorf("a change of a window: %v", err)
			}
			must(t, run(read, map[string]any{"path": "f", "offset": 2999, "limit": 2}))
			must(t, run(write, map[string]any{"path": "f", "content": "mine\n"}))
			must(t, run(write, map[string]any{"path": "f", "content": "mine again\n"}))
			must(t, run(edit, map[string]any{"path": "f", "edits": []map[string]string{{"oldText": "again", "newText": "edited"}}}))
			must(t, os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0)))
			must(t, run(write, map[string]any{"path": "f", "content": "after a touch\n"}))
			must(t, os.Remove(p))
			must(t, run(write, map[string]any{"path": "f", "content": "after a removal\n"}))
			must(t, os.WriteFile(p+".new", []byte("by an editor that renames\n"), 0o644))
			must(t, os.Rename(p+".new", p))
			if err := run(write, map[string]any{"path": "f", "content": "mine"}); err == nil || !strings.Contains(err.Error(), "+1 by an editor that renames") {
				t.Errorf("a rename: %v", err)
			}
			got, err := os.ReadFile(filepath.Join(g.dir, "f"))
			if must(t, err); string(got) != "by an editor that renames\n" {
				t.Errorf("%q", got)
			}
		})
	}
}
