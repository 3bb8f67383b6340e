package opstest

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

func brokenConfinement() []Breach {
	list := []Breach{
		leaky("ConfineDots", "the check is made before .. is resolved", func(_ *Memory, root, p string) bool {
			return strings.HasPrefix(p, root+"/") && !strings.HasPrefix(path.Clean(p), root+"/")
		}),
		leaky("ConfineSibling", "the check has no separator", func(_ *Memory, root, p string) bool {
			return path.Clean(p) == p && strings.HasPrefix(p, root) && !within(root, p)
		}),
		leaky("ConfineLinkToFile", "a link to a file is not looked at", func(m *Memory, _, p string) bool {
			_, err := m.GetFile(p)
			info, lerr := m.Lstat(p)
			return err == nil && lerr == nil && info.Mode()&fs.ModeSymlink != 0
		}),
		leaky("ConfineLinkToFolder", "folders above a file are not looked at", func(m *Memory, _, p string) bool {
			info, err := m.Lstat(path.Dir(p))
			return err == nil && info.Mode()&fs.ModeSymlink != 0
		}),
		leaky("ConfineDangling", "what does not exist is inside", func(m *Memory, root, p string) bool {
			info, err := m.Lstat(p)
			return within(root, path.Clean(p)) && err == nil && info.Mode()&fs.ModeSymlink != 0 && !m.exists(p)
		}),
		leaky("ConfineAliases", "a doubled slash counts as a name", func(_ *Memory, _, p string) bool { return strings.Contains(p, "//") }),
		alter("ConfineLinkInside", "an absolute link counts as leading out", func(m *Memory, next operations, a *altered) {
			a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
				if target, err := m.Readlink(path.Dir(p)); err == nil && path.IsAbs(target) {
					return nil, pathError("read", p, ops.ErrOutside)
				}
				return next.ReadFile(ctx, p, limit)
			}
		}),
	}
	for i, b := range list {
		switch b.Check {
		case "ConfineDots", "ConfineSibling", "ConfineLinkToFile", "ConfineLinkToFolder":
			list[i].Coupled = map[string]string{"ConfineAliases": "names of all these kinds are among its aliases"}
		}
	}
	return list
}

// leaky makes a breach that leaves some paths unconfined.
func leaky(check, fault string, missed func(m *Memory, root, p string) bool) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) {
		choose := func(p string) operations {
			if missed(m, m.options.Root, p) {
				return view{m, ""}
			}
			return next
		}
		a.access = func(ctx context.Context, p string) error { return choose(p).Access(ctx, p) }
		a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
			return choose(p).ReadFile(ctx, p, limit)
		}
		a.write = func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
			return choose(p).WriteFile(ctx, p, data)
		}
		a.stat = func(ctx context.Context, p string) (fs.FileInfo, error) { return choose(p).Stat(ctx, p) }
		a.list = func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
			return choose(p).ReadDir(ctx, p, yield)
		}
	})
}

// exists reports whether p leads to something.
func (m *Memory) exists(p string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, true)
	return err == nil && at.err() == nil
}
