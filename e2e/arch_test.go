//go:build linux

package e2e

import (
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/piremote/piremote"

// rule is a row of the import table of docs/architecture.md: what a package
// must never reach, even indirectly, and why.
type rule struct {
	pkg    string
	never  []string // prefixes of import paths
	reason string
}

func rules() []rule {
	mod := func(names ...string) []string {
		for i := range names {
			names[i] = module + "/" + names[i]
		}
		return names
	}
	return []rule{
		{"tools/tool", append(mod("tools/", "backends", "agent", "config"), "golang.org", "github.com/google"), "the vocabulary is the standard library's"},
		{"tools/ops", append(mod("tools/", "backends", "agent", "config"), "golang.org", "github.com/google"), "the contract is the standard library's"},
		{"tools/ops/steps", mod("tools/tool", "tools/schema", "tools/match", "backends", "agent", "config"), "the engine needs it too"},
		{"tools/match", mod("tools/tool", "tools/ops", "tools/schema", "backends", "agent", "config"), "a leaf that the engine needs too"},
		{"tools/textedit", mod("tools/tool", "tools/ops", "tools/schema", "backends", "agent", "config"), "a leaf"},
		{"tools/textout", mod("tools/tool", "tools/ops", "tools/schema", "backends", "agent", "config"), "a leaf"},
		{"tools/sniff", mod("tools/tool", "tools/ops", "tools/schema", "backends", "agent", "config"), "a leaf"},
		{"tools/schema", mod("tools/ops", "backends", "agent", "config"), "schemas know no machine"},
		{"tools", append(mod("backends", "agent", "config"), "github.com/spf13", "github.com/docker"), "tools see Operations, never a machine"},
		{"backends/local", append(mod("backends/ssh", "backends/docker", "agent", "config", "tools/tool", "tools/schema"), "github.com/docker", "golang.org/x/crypto"), "the engine runs on targets"},
		{"backends/ssh", append(mod("backends/docker", "backends/local", "agent", "config", "tools/tool", "tools/schema"), "github.com/docker", "charm.land"), "a backend stands alone"},
		{"backends/docker", append(mod("backends/ssh", "backends/local", "agent", "config", "tools/tool", "tools/schema"), "charm.land", "golang.org/x/crypto/ssh"), "a backend stands alone"},
		{"backends/helper/install", append(mod("backends/ssh", "backends/docker", "backends/local", "agent", "config", "tools/tool", "tools/schema"), "github.com/docker", "golang.org/x/crypto"), "it knows no transport"},
		{"backends/helper", append(mod("backends", "tools", "agent", "config"), "golang.org", "github.com"), "both sides of a link import it"},
		{"agent", append(mod("tools/ops", "backends", "config"), "github.com/docker", "charm.land", "github.com/spf13"), "the loop gets tools, not machines or model SDKs"},
		{"agent/call", append(mod("tools/ops", "backends", "config", "agent/llm"), "github.com/docker", "charm.land"), "one executor, for every caller"},
		{"agent/llm", append(mod("tools/ops", "backends", "config"), "charm.land"), "adapters are packages of their own"},
		{"agent/session/store", append(mod("tools/ops", "tools/schema", "backends", "config", "agent/call"), "charm.land", "github.com/docker", "github.com/spf13"), "a session's file is read without a loop"},
		{"agent/session/compact", append(mod("tools/ops", "tools/schema", "backends", "config", "agent/call"), "charm.land", "github.com/docker", "github.com/spf13"), "arithmetic on messages"},
		{"agent/session/export", append(mod("tools/ops", "tools/schema", "backends", "config", "agent/call"), "charm.land", "github.com/docker", "github.com/spf13"), "it reads what is stored"},
		{"agent/session", append(mod("tools/ops", "backends", "config", "agent/rpc"), "charm.land", "github.com/docker", "github.com/spf13"), "a session gets tools, not machines or model SDKs"},
		{"agent/rpc", append(mod("tools/ops", "backends", "config"), "charm.land", "github.com/docker", "github.com/spf13"), "a wire on a session"},
		{"config", mod("agent", "tools", "backends"), "options come in as arguments"},
	}
}

// The rules are checked on the source, in this process: a test that asks the go
// command is served from the cache when only an import has changed.
func TestImportRules(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string][]string{}
	var visit func(pkg string) []string
	visit = func(pkg string) []string {
		if list, ok := direct[pkg]; ok {
			return list
		}
		direct[pkg] = nil // against cycles
		list := imports(t, filepath.Join(root, filepath.FromSlash(pkg)))
		direct[pkg] = list
		for _, i := range list {
			if own, ok := strings.CutPrefix(i, module+"/"); ok {
				visit(own)
			}
		}
		return list
	}
	for _, r := range rules() {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(r.pkg))); err != nil {
			t.Errorf("%s is gone: mend the rules", r.pkg)
			continue
		}
		seen := map[string]bool{}
		var check func(pkg, way string)
		check = func(pkg, way string) {
			for _, i := range visit(pkg) {
				for _, never := range r.never {
					if i == never || strings.HasPrefix(i, strings.TrimSuffix(never, "/")+"/") {
						t.Errorf("%s reaches %s by %s: %s", r.pkg, i, way, r.reason)
					}
				}
				if own, ok := strings.CutPrefix(i, module+"/"); ok && !seen[own] {
					seen[own] = true
					check(own, way+" > "+own)
				}
			}
		}
		check(r.pkg, r.pkg)
	}
	importers(t, root)
}

// importers checks what only one package may import.
func importers(t *testing.T, root string) {
	t.Helper()
	only := map[string]string{
		"github.com/spf13/viper":               "config",
		"charm.land/fantasy":                   "agent/llm/fantasyllm",
		"charm.land/catwalk":                   "agent/llm/fantasyllm",
		"github.com/docker/docker":             "backends/docker",
		module + "/backends/docker":            "cmd/piremote/internal/wire",
		module + "/backends/ssh":               "cmd/piremote/internal/wire",
		module + "/cmd/piremote/internal/wire": "cmd/piremote/internal/cli",
	}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if strings.HasPrefix(path.Base(rel), ".") && rel != "." || path.Base(rel) == "testdata" || rel == "backends/backendtest/servers" {
			return filepath.SkipDir
		}
		// The examples are users of the library, who may import any backend.
		user := strings.HasPrefix(rel, "examples/")
		for _, i := range imports(t, p) {
			for library, owner := range only {
				if user && strings.HasPrefix(library, module+"/backends/") {
					continue
				}
				if (i == library || strings.HasPrefix(i, library+"/")) && rel != owner && !strings.HasPrefix(rel, owner+"/") {
					t.Errorf("%s imports %s, which only %s may", rel, i, owner)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// imports lists what the non-test files of a folder import.
func imports(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := build.Default.MatchFile(dir, name); err != nil || !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			list = append(list, strings.Trim(i.Path.Value, `"`))
		}
	}
	return list
}
