package confinement

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Maze is a folder full of links, with folders beside it into which some of them
// lead, and paths that go through them.
type Maze struct {
	// Root is the folder that nothing may leave; it is what a workspace opens.
	Root string
	// Paths are absolute. They may lead anywhere.
	Paths []string

	outside string
	links   map[string]string
}

// words are components: names of files, folders and links, and what does not exist.
func words() []string {
	return []string{"a", "b", "c", "f", "g", "h", "l0", "l1", "l2", "l3", "l4", "l5", "..", "..", "..", ".", "none", "..x", "ws", "ws-out", "secret"}
}

// places are what links inside point at, and furniture is what is outside.
func places() []string {
	return []string{"a", "a/b", "c", "f", "a/g", "a/b/h", "l0", "a/l1", "c/l2", "a/b/l3", "l4", "none", "a/none", ".", "a/..", "c/l5/.."}
}

func furniture() []string {
	return []string{"secret", "f", "a/g", "a", "l0/g", "none", "a/none", ".", ".."}
}

// bytesOf deals out small numbers; at its end all are zero.
type bytesOf struct{ data []byte }

func (b *bytesOf) below(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	v := int(b.data[0])
	b.data = b.data[1:]
	return v % n
}

// of deals out one of some texts.
func (b *bytesOf) of(texts ...string) string { return texts[b.below(len(texts))] }

// names deals out components of a path.
func (b *bytesOf) names(most int) string {
	parts := make([]string, 1+b.below(most))
	for i := range parts {
		parts[i] = b.of(words()...)
	}
	return strings.Join(parts, "/")
}

// NewMaze makes the maze that data describes in an existing, empty folder, whose path
// must be without links. Any data describe one.
func NewMaze(base string, data []byte) (*Maze, error) {
	b := bytesOf{data}
	m := &Maze{Root: filepath.Join(base, "ws"), outside: filepath.Join(base, "ws-out"), links: map[string]string{}}
	at := ""
	for range 2 + b.below(9) {
		at = filepath.Join(b.of("", "", "a", "a/b", "c"), fmt.Sprint("l", b.below(6)))
		m.links[at] = m.target(&b, strings.Count(at, "/"))
	}
	for range 4 + b.below(6) {
		p := m.Root + "/" + b.of(places()...)
		switch b.below(8) {
		case 0, 1:
			p += "/" + b.names(3)
		case 2, 3:
			p = m.Root + "/" + at
		case 4:
			p = m.Root + "/" + at + "/" + b.names(3)
		case 5:
			p += "/"
		case 6:
			p = m.outside + "/" + b.of(furniture()...)
		}
		m.Paths = append(m.Paths, p)
	}
	return m, m.make()
}

// target deals out the text of a link that has so many folders above it.
func (m *Maze) target(b *bytesOf, depth int) string {
	in, out, up := b.of(places()...), b.of(furniture()...), strings.Repeat("../", depth)
	t := ""
	switch b.below(10) {
	case 0:
		t = b.names(4)
	case 1, 2, 3:
		t = up + in
	case 4, 5:
		t = m.Root + "/" + in
	case 6:
		t = up + "../ws/" + in
	case 7:
		t = up + "../ws-out/" + out
	case 8:
		t = m.outside + "/" + out
	case 9:
		t = "/proc/self/root" + m.outside + "/" + out
	}
	if b.below(6) == 0 {
		t += "/"
	}
	return t
}

const (
	inside = "inside"
	secret = "secret"
)

func (m *Maze) make() error {
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(m.Root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, file := range []string{"f", "a/g", "a/b/h", "..x"} {
		if err := os.WriteFile(filepath.Join(m.Root, file), []byte(inside), 0o644); err != nil {
			return err
		}
	}
	for at, target := range m.links {
		if err := os.Symlink(target, filepath.Join(m.Root, at)); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir(m.outside, 0o755), m.furnish())
}

// furnish puts things into the folder outside.
func (m *Maze) furnish() error {
	return errors.Join(
		os.WriteFile(filepath.Join(m.outside, "secret"), []byte(secret), 0o644),
		os.WriteFile(filepath.Join(m.outside, "f"), []byte(secret), 0o644),
		os.Mkdir(filepath.Join(m.outside, "a"), 0o755),
		os.WriteFile(filepath.Join(m.outside, "a", "g"), []byte(secret), 0o644),
		os.Symlink("a", filepath.Join(m.outside, "l0")),
	)
}

// empty takes them out again.
func (m *Maze) empty() error {
	if err := os.RemoveAll(m.outside); err != nil {
		return err
	}
	return os.Mkdir(m.outside, 0o755)
}

// untouched demands that the folders outside are as they were made.
func (m *Maze) untouched() error {
	var got []string
	err := filepath.WalkDir(filepath.Dir(m.Root), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == m.Root:
			return fs.SkipDir
		}
		what := d.Type().String()
		if d.Type().IsRegular() {
			data, rerr := os.ReadFile(p)
			what, err = string(data), rerr
		}
		got = append(got, strings.TrimPrefix(p, m.outside)+"="+what)
		return err
	})
	want := "=d---------,/a=d---------,/a/g=secret,/f=secret,/l0=L---------,/secret=secret"
	if text := strings.Join(got[1:], ","); err == nil && text != want {
		err = fmt.Errorf("outside there is now %s", text)
	}
	return err
}

// String shows the links for a report.
func (m *Maze) String() string {
	var b strings.Builder
	for at, target := range m.links {
		fmt.Fprintf(&b, "%s -> %s\n", at, target)
	}
	return b.String()
}
