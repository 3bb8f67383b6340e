package confinement

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

// Check demands of a workspace on the maze's root that each path means what it means
// to the kernel, or is refused where it leads out:
//
//   - what is resolved has no links, lies below the root, and is the kernel's own file;
//   - what the kernel opens without leaving the root at any moment is not refused;
//   - what the kernel finds outside is ops.ErrOutside for every operation;
//   - no answer depends on what is outside;
//   - nothing outside is changed.
func (m *Maze) Check(ctx context.Context, set ops.Set) error {
	root, err := unix.Open(m.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(root) }()
	k := kernel{m, root}
	var furnished, empty []string
	for _, p := range m.Paths {
		v := look(ctx, set, p)
		if err := k.compare(p, v); err != nil {
			return fmt.Errorf("%s: %w\n%v", p, err, m)
		}
		furnished = append(furnished, v.String())
	}
	if err := m.empty(); err != nil {
		return err
	}
	for i, p := range m.Paths {
		if empty = append(empty, look(ctx, set, p).String()); empty[i] != furnished[i] {
			return fmt.Errorf("%s: the answer tells what is outside: %s, and when that is gone %s\n%v", p, furnished[i], empty[i], m)
		}
	}
	if err := m.furnish(); err != nil {
		return err
	}
	for _, p := range m.Paths {
		if err := m.change(ctx, set, p); err != nil {
			return fmt.Errorf("%s: %w\n%v", p, err, m)
		}
	}
	return nil
}

// change demands that no change by this path goes out.
func (m *Maze) change(ctx context.Context, set ops.Set, p string) error {
	report, err := set.Write.WriteFile(ctx, p, []byte(inside))
	if err == nil && !below(m.Root, report.Path) {
		return fmt.Errorf("%s was written", report.Path)
	}
	err = set.Write.MkdirAll(ctx, p+"/made")
	if err := m.untouched(); err != nil {
		return err
	}
	if ops.KindOf(err) == "" && ctx.Err() == nil {
		err = nil // it may be refused
	}
	return err
}

// verdict is what a workspace says of one path.
type verdict struct {
	canonical string
	errs      map[string]error // by operation
	id        ops.FileID
	content   string
	names     []string
}

// String tells all of it.
func (v verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q", v.canonical, v.content, v.names)
	for _, op := range operations() {
		fmt.Fprintf(&b, " %s:%v", op, v.errs[op])
	}
	return b.String()
}

func operations() []string { return []string{"canonical", "stat", "access", "read", "list"} }

func look(ctx context.Context, set ops.Set, p string) verdict {
	v := verdict{errs: map[string]error{}}
	if c, ok := set.Write.(ops.Canonicalizer); ok {
		v.canonical, v.errs["canonical"] = c.Canonical(ctx, p)
	}
	info, err := set.Ls.Stat(ctx, p)
	if v.errs["stat"] = err; err == nil {
		v.id, _ = info.Sys().(ops.FileID)
	}
	v.errs["access"] = set.Read.Access(ctx, p)
	data, err := set.Read.ReadFile(ctx, p, 0)
	v.content, v.errs["read"] = string(data), err
	v.errs["list"] = set.Ls.ReadDir(ctx, p, func(e fs.DirEntry) bool {
		v.names = append(v.names, e.Name())
		return true
	})
	slices.Sort(v.names)
	return v
}

// kernel answers for the maze.
type kernel struct {
	*Maze
	root int
}

// compare holds a verdict against the kernel's own.
func (k kernel) compare(p string, v verdict) error {
	clean := filepath.Clean(p)
	beneath, berr := k.open(clean, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS)
	full, ferr := k.open(clean, 0)
	out := !below(k.Root, clean) || ferr == nil && !below(k.Root, full.path)
	if strings.Contains(v.content, secret) {
		return errors.New("what is outside was read")
	}
	for op, err := range v.errs {
		switch {
		case ops.KindOf(err) != "":
			return fmt.Errorf("%s: %w", op, err)
		case out && !errors.Is(err, ops.ErrOutside):
			return fmt.Errorf("%s of what the kernel finds at %s (%w) is %w", op, full.path, ferr, err)
		case berr == nil && errors.Is(err, ops.ErrOutside):
			return fmt.Errorf("%s is refused, and the kernel opens %s without leaving", op, beneath.path)
		}
	}
	switch {
	case berr == nil && (v.errs["canonical"] != nil || v.errs["stat"] != nil || v.canonical != beneath.path):
		return fmt.Errorf("it is %s (%w, %w), and %s to the kernel", v.canonical, v.errs["canonical"], v.errs["stat"], beneath.path)
	case v.errs["stat"] == nil && ferr == nil && v.id != (ops.FileID{}) && v.id != full.id:
		return fmt.Errorf("it is %v, and %v to the kernel", v.id, full.id)
	case v.errs["canonical"] != nil:
		return nil //nolint:nilerr // what may be refused was judged above
	case !below(k.Root, v.canonical):
		return fmt.Errorf("it was resolved to %s", v.canonical)
	}
	own, err := k.open(v.canonical, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	switch {
	case err == nil && ferr == nil && own.id != full.id:
		return fmt.Errorf("it was resolved to %s, and is %s to the kernel", v.canonical, full.path)
	case err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("it was resolved to %s, which the kernel does not open: %w", v.canonical, err)
	}
	return nil
}

// thing is what the kernel found.
type thing struct {
	path string
	id   ops.FileID
}

// open opens an absolute path; below the root where resolve confines.
func (k kernel) open(p string, resolve uint64) (thing, error) {
	at := unix.AT_FDCWD
	if resolve != 0 {
		rel, err := filepath.Rel(k.Root, p)
		if err != nil {
			return thing{}, err
		}
		at, p = k.root, rel
	}
	fd, err := unix.Openat2(at, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
	if err != nil {
		return thing{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return thing{}, err
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf)
	return thing{path: string(buf[:max(n, 0)]), id: ops.FileID{Device: st.Dev, Inode: st.Ino}}, err
}

// below reports whether p is dir or in it.
func below(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// supported reports whether the kernel answers; an older one, or a filter of system
// calls, may refuse.
func supported() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}
