//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// The sessions of every workspace are listed, shown, exported and removed by the
// beginning of an id.
func TestSessionsOfThisMachine(t *testing.T) {
	state := t.TempDir()
	env := []string{"XDG_STATE_HOME=" + state}
	if r := run(t, env, "sessions", "list"); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, "no such session") {
		t.Errorf("before there are any: %+v", r)
	}
	var open *store.Log
	for id, label := range map[string]string{"aaa1": "/srv/app", "aab2": "ssh://box/srv/app"} {
		l, err := store.Create(store.Options{
			Dir: filepath.Join(state, "piremote", "sessions", store.FolderName(label)), ID: id, Cwd: "/srv/app",
			Workspace: &store.Workspace{Label: label},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []store.Entry{
			store.Message{Message: llm.UserText("mend <it>\nin "+label, 1)},
			store.SessionInfo{Name: "name of " + id},
			store.Message{Message: &llm.Assistant{Content: []llm.Block{&llm.Text{Text: "mended"}}}},
		} {
			if _, err := l.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		if id == "aab2" {
			open = l
			t.Cleanup(func() { _ = l.Close() })
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, env, "sessions", "list")
	if r.code != 0 || strings.Count(r.stdout, "\n") != 2 || !strings.Contains(r.stdout, "name of aaa1") || !strings.Contains(r.stdout, "ssh://box/srv/app") {
		t.Errorf("list: %+v", r)
	}
	if r := run(t, env, "sessions", "list", "ssh://"); !strings.HasPrefix(r.stdout, "aab2 ") || strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("list with a text: %+v", r)
	}
	if r := run(t, env, "sessions", "show", "aaa"); r.stdout != "[User]\nmend <it>\nin /srv/app\n\n[Agent]\nmended\n\n" {
		t.Errorf("show: %+v", r)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if r := run(t, env, "sessions", "export", open.Path(), "-o", page); r.code != 0 {
		t.Errorf("export: %+v", r)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "mend &lt;it&gt;") {
		t.Errorf("export: %s, %v", text, err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"export", "aaa", "-o", page}, 2, "exists already"},
		{[]string{"show", "aa"}, 2, "give more of it"},
		{[]string{"show", "zz"}, 2, `"zz"`},
		{[]string{"show"}, 2, "sessions list"},
		{[]string{"rm"}, 2, "sessions list"},
		{[]string{"rm", "aab"}, 1, "open in another process"},
		{[]string{"rm", "aaa", "zz"}, 2, `"zz"`},
	} {
		if r := run(t, env, append([]string{"sessions"}, c.args...)...); r.code != c.code || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	if r := run(t, env, "sessions", "rm", "aaa"); r.code != 0 || !strings.HasPrefix(r.stdout, "removed ") {
		t.Errorf("rm: %+v", r)
	}
	if r := run(t, env, "sessions", "list"); strings.Contains(r.stdout, "aaa1") || !strings.Contains(r.stdout, "aab2") {
		t.Errorf("list after rm: %+v", r)
	}
}
