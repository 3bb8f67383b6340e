package posix

import (
	"context"

	"github.com/piremote/piremote/tools/ops"
)

// The operations of the contract that an Engine carries out.
var (
	_ ops.EditOperations  = (*Engine)(nil)
	_ ops.WriteOperations = (*Engine)(nil)
	_ ops.BashOperations  = (*Engine)(nil)
	_ ops.GrepOperations  = (*Engine)(nil)
	_ ops.Canonicalizer   = (*Engine)(nil)
	_ ops.WindowReader    = (*Engine)(nil)
	_ ops.VersionReader   = (*Engine)(nil)
	_ ops.VersionWriter   = (*Engine)(nil)
	_ ops.Searcher        = (*Engine)(nil)
	_ ops.Globber         = (*Engine)(nil)
)

// Set returns what the target offers. An ability that the target's tools can't
// give is absent from the values. A backend that has better file operations
// replaces the fields it likes.
func (e *Engine) Set() ops.Set {
	p := e.core.probe
	s := ops.Set{
		Target: e.target(), Bash: bash{e}, Mutations: e.core.mutations,
		Write: struct {
			ops.WriteOperations
			ops.Canonicalizer
			ops.VersionWriter
		}{e, e, e},
	}
	if p.PowerShell != "" {
		s.PowerShell = bash{e}
	}
	if e.Windows() {
		s.Read = struct {
			ops.ReadOperations
			ops.Canonicalizer
			ops.WindowReader
			ops.VersionReader
		}{e, e, e, e}
		s.Edit = struct {
			ops.EditOperations
			ops.Canonicalizer
			ops.WindowReader
			ops.VersionReader
			ops.VersionWriter
		}{e, e, e, e, e}
	} else {
		s.Read = struct {
			ops.ReadOperations
			ops.Canonicalizer
			ops.VersionReader
		}{e, e, e}
		s.Edit = struct {
			ops.EditOperations
			ops.Canonicalizer
			ops.VersionReader
			ops.VersionWriter
		}{e, e, e, e}
	}
	list := struct {
		ops.GrepOperations
		ops.Canonicalizer
	}{e, e}
	s.Ls, s.Find, s.Grep = list, list, list
	if e.Searches() {
		searcher := struct {
			ops.GrepOperations
			ops.Canonicalizer
			ops.Searcher
			ops.Globber
		}{e, e, e, e}
		s.Find, s.Grep = searcher, searcher
	}
	s.At = func(dir, root string) (ops.Set, error) {
		at, err := e.At(context.Background(), dir, root)
		if err != nil {
			return ops.Set{}, err
		}
		return at.Set(), nil
	}
	return s
}

// bash is Exec alone, without the abilities of an Engine.
type bash struct{ e *Engine }

// Exec implements ops.BashOperations.
func (b bash) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	return b.e.Exec(ctx, cmd, output)
}

// Windows reports whether ReadWindow works on the target.
func (e *Engine) Windows() bool {
	p := e.core.probe
	return p.HeadBytes && p.TailLines && p.WordCount
}

// CarriesFiles reports whether the target's tools are good enough for file
// operations where something else could carry them: bytes are counted by more
// than single reads, links can be followed, and metadata are known.
func (e *Engine) CarriesFiles() bool {
	p := e.core.probe
	return p.HeadBytes && p.Readlink && p.Stat != ""
}

func (e *Engine) target() ops.Target {
	return ops.Target{
		Label: e.label, Backend: e.core.backend, OS: e.core.probe.OS,
		Dir: e.dir, Root: e.root, Home: e.core.probe.Home,
		Roots: e.ExtraRoots(), Confinement: e.confinement(), Weaker: append(e.WeakerFiles(), e.WeakerExec()...),
	}
}

// ExtraRoots are the further roots; none where nothing is confined.
func (e *Engine) ExtraRoots() []ops.Root {
	if e.confine() == "" {
		return nil
	}
	return e.extra
}

func (e *Engine) confinement() ops.Confinement {
	if e.confine() == "" {
		return ""
	}
	return ops.ByEntering
}

// WeakerFiles lists what the file operations of this engine can't promise, a
// sentence each.
func (e *Engine) WeakerFiles() []string {
	p := e.core.probe
	moment := "in the moment before it is replaced"
	if p.Stat == "" {
		moment = "between reading and replacing it"
	}
	list := []string{"A file that another process changes " + moment + " is replaced: there is no compare-and-swap at the target."}
	add := func(missing bool, sentence string) {
		if missing {
			list = append(list, sentence)
		}
	}
	add(!p.SyncFile, "Written files are not synced to the disk before they replace the old ones: sync on the target takes no file.")
	add(!p.CopyAttributes, "ACLs and extended attributes of a replaced file are not kept: cp on the target can't copy them.")
	add(p.MoveNoDir == "", "A folder that appears in the place of a file at the moment of its replacement is not noticed: mv on the target has no -T.")
	add(e.root != "" && !p.Proc, "A file that is swapped for a link at the moment of its opening is followed: the target has no /proc to prove where an open file is.")
	add(p.Stat == "", "Times and identities of files are not known: the target has no stat.")
	add(!p.Readlink, "Symbolic links can't be followed: the target has no readlink.")
	add(!e.Windows(), "Files are transferred whole to show a part: head, tail or wc on the target lack an option.")
	return list
}

// WeakerExec lists what Exec can't promise here, a sentence each.
func (e *Engine) WeakerExec() []string {
	p := e.core.probe
	list := []string{
		"Commands do not outlive a lost link with their output, and nothing ends them if the client dies.",
		"All output of a command travels to the client, and the spill file keeps its beginning.",
		"A background process that writes to the output of its finished command gets SIGPIPE.",
		"A process that clears its environment, leaves the session and loses its parent before the command is ended is not seen.",
	}
	switch {
	case p.Proc:
	case p.ProcessList:
		list = append(list, "The target has no /proc: processes of a command are found by their group and parents only.")
	default:
		list = append(list, "The target has neither /proc nor ps: only the process group of a command can be ended.")
	}
	if p.Setsid == "" {
		list = append(list, "The target has no setsid: a command shares the session of the shell above it.")
	}
	if p.Bash == "" {
		list = append(list, "The target has no bash: commands run under "+p.Sh+".")
	}
	return list
}
