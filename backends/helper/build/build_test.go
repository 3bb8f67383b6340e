package build

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper/install"
)

// maxSize is what the helper may have, unpacked.
const maxSize = 4 << 20

// The same source gives the same bytes, wherever it lies, and the packed program
// is the same too.
func TestProgramIsReproducibleSmallAndStatic(t *testing.T) {
	elsewhere := copyModule(t)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			program, err := Program(t.Context(), ".", arch)
			must(t, err)
			again, err := Program(t.Context(), elsewhere, arch)
			must(t, err)
			if !bytes.Equal(program, again) {
				t.Errorf("two builds differ: %d and %d bytes", len(program), len(again))
			}
			if len(program) > maxSize {
				t.Errorf("%d bytes, more than %d", len(program), maxSize)
			}
			f, err := elf.NewFile(bytes.NewReader(program))
			must(t, err)
			if libraries, err := f.ImportedLibraries(); f.Machine != machine || len(libraries) > 0 || err != nil || f.Section(".symtab") != nil {
				t.Errorf("machine %v, libraries %v, %v", f.Machine, libraries, err)
			}
			packed, err := install.Pack(program)
			must(t, err)
			repacked, err := install.Pack(again)
			must(t, err)
			if !bytes.Equal(packed, repacked) {
				t.Error("two packings differ")
			}
			t.Logf("%d bytes, %d packed", len(program), len(packed))
		})
	}
}

// What the helper must never need: it runs on machines of others.
func TestHelperDependsOnTheEngineAlone(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", Package)
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0"), time.Second
	out, err := cmd.Output()
	must(t, err)
	const module = "github.com/piremote/piremote/"
	own := []string{
		module + "cmd/piremote-helper", module + "backends/helper", module + "backends/local", module + "backends/internal",
		module + "tools/ops", module + "tools/match", module + "tools/textedit", module + "tools/textout", module + "tools/sniff", module + "internal",
	}
	never := []string{module + "backends/helper/install", "net/http", "crypto/tls", "html/template"}
	other := []string{"golang.org/x/sys", "golang.org/x/text", "golang.org/x/sync", "github.com/bmatcuk/doublestar", "github.com/aymanbagabas/go-udiff"}
	seen := 0
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		seen++
		first, _, _ := strings.Cut(pkg, "/")
		switch {
		case below(pkg, never), strings.HasPrefix(pkg, module) && !below(pkg, own), strings.Contains(first, ".") && !strings.HasPrefix(pkg, module) && !below(pkg, other):
			t.Errorf("the helper depends on %s", pkg)
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages are listed", seen)
	}
}

func below(pkg string, roots []string) bool {
	for _, r := range roots {
		if pkg == r || strings.HasPrefix(pkg, r+"/") {
			return true
		}
	}
	return false
}

// copyModule copies the source of the module to another folder. It also makes the
// go command, which looks at what a test reads, run these tests anew when any of it
// has changed.
func copyModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	must(t, err)
	dir := filepath.Join(t.TempDir(), "some where else")
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		must(t, err)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	for _, part := range []string{"backends", "cmd/piremote-helper", "tools", "internal"} {
		must(t, filepath.WalkDir(filepath.Join(root, part), func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(file, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			target := filepath.Join(dir, rel)
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			return os.WriteFile(target, data, 0o644)
		}))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
