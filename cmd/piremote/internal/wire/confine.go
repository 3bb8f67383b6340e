package wire

import (
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// Values of the key confine.
const (
	confineOff    = "off"
	confineStrict = "strict"
)

// confine is how file tools are confined: the workspace's own word counts first.
func (o Options) confine() string { return or(o.Workspace.Confine, o.Config.Confine) }

// root is the confinement root for backends that take "/" for none.
func (o Options) root() string {
	if o.confine() == confineOff {
		return "/"
	}
	return o.Workspace.Root
}

// extraRoots are the further folders that may be reached: those of the configuration
// and of the workspace, "path" or "path:ro".
func (o Options) extraRoots() []ops.Root {
	if o.confine() == confineOff {
		return nil
	}
	var list []ops.Root
	for _, text := range append(append([]string{}, o.Config.ExtraRoots...), o.Workspace.ExtraRoots...) {
		p, readOnly := strings.CutSuffix(text, ":ro")
		list = append(list, ops.Root{Path: p, ReadOnly: readOnly})
	}
	return list
}

// confinementFindings tell how files are kept inside the roots, and how a change is
// made safe against others.
func confinementFindings(set ops.Set, mode string) []Finding {
	t := set.Target
	places := t.Root
	for _, r := range t.Roots {
		places += ", " + r.Path
		if r.ReadOnly {
			places += " (read only)"
		}
	}
	f := Finding{Name: "confinement", OK: true}
	switch t.Confinement {
	case ops.ByDescriptor:
		f.Detail = places + ": race-free, by descriptors of the roots"
	case ops.ByEntering:
		f.Detail = places + ": folders are entered and compared; nothing outside is read or changed, though sizes may be seen"
	case ops.ByChecking:
		f.Detail = places + ": checked before and after; a program on the host that swaps folders as fast as it can led one operation of eight outside"
		f.OK = mode == confineStrict
		f.Mend = ifTrue(!f.OK, "confine: strict refuses changes there; a shell or the helper on the host makes it safe")
		if f.OK {
			f.Detail += "; changes are refused (confine: strict)"
		}
	default:
		f.OK, f.Detail, f.Mend = false, "off", "file tools reach everything the account can reach"
	}
	m := Finding{Name: "changes", OK: true, Detail: "one at a time in this program; another program's change between reading and replacing a file is lost"}
	switch set.Edit.(type) {
	case ops.Editor:
		m.Detail = "an edit is one step at the target, under a lock, and writes nothing if another program changed the file"
	case ops.VersionWriter:
		m.Detail = "one at a time in this program; a file whose size, time or identity changed since it was read is not replaced, but what another program does in the moment before is lost"
	}
	return []Finding{f, m}
}
