package opstest

import (
	"context"
	"io"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

// Breach is a workspace that breaks one rule of the contract, as a careless
// backend would.
type Breach struct {
	// Check is the name of the check of backends/backendtest that must notice.
	Check string
	// Fault says what is wrong.
	Fault string
	// Break returns the operations of m with the fault.
	Break func(m *Memory) ops.Set
	// Coupled names further checks that can't help noticing, with the reason.
	Coupled map[string]string
}

// Broken returns a breach for every check.
func Broken() []Breach {
	var all []Breach
	for _, list := range [][]Breach{brokenReads(), brokenWrites(), brokenEdits(), brokenTrees(), brokenReplaces(), brokenVersions(), brokenLists(), brokenExecs(), brokenEnds(), brokenQueues(), brokenConfinement()} {
		all = append(all, list...)
	}
	return all
}

// operations is everything that a Memory offers.
type operations interface { //nolint:interfacebloat // everything that a set may offer
	ops.EditOperations
	ops.BashOperations
	ops.LsOperations
	ops.Canonicalizer
	ops.WindowReader
	ops.Opener
	ops.Editor
	ops.TreeWriter
	ops.Replacer
	ops.VersionReader
	ops.VersionWriter
	MkdirAll(ctx context.Context, dir string) error
}

// altered is operations of which some functions are replaced; nil ones are not.
type altered struct {
	operations
	access    func(ctx context.Context, p string) error
	read      func(ctx context.Context, p string, limit int64) ([]byte, error)
	window    func(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error)
	open      func(ctx context.Context, p string) (io.ReadCloser, error)
	mkdir     func(ctx context.Context, dir string) error
	write     func(ctx context.Context, p string, data []byte) (ops.WriteReport, error)
	edit      func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error)
	tree      func(ctx context.Context, p string, data []byte) (ops.WriteReport, error)
	replace   func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error)
	reread    versionReadFunc
	rewrite   versionWriteFunc
	stat      func(ctx context.Context, p string) (fs.FileInfo, error)
	list      func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error
	canonical func(ctx context.Context, p string) (string, error)
	exec      func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error)
}

func (a altered) Access(ctx context.Context, p string) error {
	if a.access != nil {
		return a.access(ctx, p)
	}
	return a.operations.Access(ctx, p)
}

func (a altered) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	if a.read != nil {
		return a.read(ctx, p, limit)
	}
	return a.operations.ReadFile(ctx, p, limit)
}

func (a altered) ReadWindow(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error) {
	if a.window != nil {
		return a.window(ctx, p, req)
	}
	return a.operations.ReadWindow(ctx, p, req)
}

func (a altered) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	if a.open != nil {
		return a.open(ctx, p)
	}
	return a.operations.Open(ctx, p)
}

func (a altered) MkdirAll(ctx context.Context, dir string) error {
	if a.mkdir != nil {
		return a.mkdir(ctx, dir)
	}
	return a.operations.MkdirAll(ctx, dir)
}

func (a altered) WriteFile(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
	if a.write != nil {
		return a.write(ctx, p, data)
	}
	return a.operations.WriteFile(ctx, p, data)
}

func (a altered) EditFile(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
	if a.edit != nil {
		return a.edit(ctx, p, req)
	}
	return a.operations.EditFile(ctx, p, req)
}

func (a altered) WriteTree(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
	if a.tree != nil {
		return a.tree(ctx, p, data)
	}
	return a.operations.WriteTree(ctx, p, data)
}

func (a altered) ReplaceFile(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
	if a.replace != nil {
		return a.replace(ctx, p, expect, data)
	}
	return a.operations.ReplaceFile(ctx, p, expect, data)
}

func (a altered) ReadVersion(ctx context.Context, p string, limit int64) ([]byte, ops.Version, error) {
	if a.reread != nil {
		return a.reread(ctx, p, limit)
	}
	return a.operations.ReadVersion(ctx, p, limit)
}

func (a altered) WriteVersion(ctx context.Context, p string, v ops.Version, data []byte) (ops.WriteReport, error) {
	if a.rewrite != nil {
		return a.rewrite(ctx, p, v, data)
	}
	return a.operations.WriteVersion(ctx, p, v, data)
}

func (a altered) Stat(ctx context.Context, p string) (fs.FileInfo, error) {
	if a.stat != nil {
		return a.stat(ctx, p)
	}
	return a.operations.Stat(ctx, p)
}

func (a altered) ReadDir(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
	if a.list != nil {
		return a.list(ctx, p, yield)
	}
	return a.operations.ReadDir(ctx, p, yield)
}

func (a altered) Canonical(ctx context.Context, p string) (string, error) {
	if a.canonical != nil {
		return a.canonical(ctx, p)
	}
	return a.operations.Canonical(ctx, p)
}

func (a altered) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	if a.exec != nil {
		return a.exec(ctx, cmd, output)
	}
	return a.operations.Exec(ctx, cmd, output)
}

// alter makes a breach from a change of the operations.
func alter(check, fault string, change func(m *Memory, next operations, a *altered)) Breach {
	return Breach{Check: check, Fault: fault, Break: func(m *Memory) ops.Set {
		next := view{Memory: m, confine: m.options.Root}
		a := altered{operations: next}
		change(m, next, &a)
		return withOperations(m.Set(), a)
	}}
}

// withOperations returns a set whose operations are a.
func withOperations[O operations](set ops.Set, a O) ops.Set {
	set.Read, set.Write, set.Edit, set.Bash, set.Grep, set.Find, set.Ls = a, a, a, a, a, a, a
	return set
}
