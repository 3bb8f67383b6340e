package docker

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The client library is known to one file, which exports nothing but methods of its own
// types: no exported API can show the library's, and its successor changes one file.
func TestDKX09TheLibraryIsKnownToOneFile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		knows := false
		for _, i := range f.Imports {
			p := strings.Trim(i.Path.Value, `"`)
			knows = knows || strings.HasPrefix(p, "github.com/docker/") || strings.HasPrefix(p, "github.com/moby/") || strings.HasPrefix(p, "github.com/containerd/")
		}
		if !knows {
			continue
		}
		users = append(users, name)
		for _, d := range f.Decls {
			for _, n := range exported(d) {
				t.Errorf("%s exports %s", name, n)
			}
		}
	}
	if got := strings.Join(users, " "); got != "client.go" {
		t.Errorf("the library is imported by %q, want client.go alone", got)
	}
}

// exported lists the exported names of a declaration, methods of unexported types left out.
func exported(d ast.Decl) (names []string) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add(n)
				}
			}
		}
	}
	return names
}
