package posix

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
)

// Bounds of a prefetched tree. What doesn't fit is read as it is needed.
const (
	maxListing  = 48 << 20 // bytes of listing
	maxPullFile = 1 << 20  // bytes of one file in a batch; larger ones travel alone
	maxNames    = 4 << 20  // bytes of names in one run
	firstBatch  = 8        // files of the first batch; each next one is twice as large
	lastBatch   = 128
)

// tree is a match.FileSystem over a listing that was taken in one round trip,
// with file contents in batches. What it does not know it asks the engine.
type tree struct {
	e   *Engine
	dir string // as it was asked for

	// A walk asks for folders and for contents from several goroutines.
	listing sync.Mutex
	folders map[string][]fs.DirEntry
	partial bool // an empty folder may be one that find could not read

	mu       sync.Mutex
	contents map[string]content
	order    []string       // files that will be wanted, in that order
	place    map[string]int // in order
	batch    int
	without  bool                // one of some texts must occur: files out of with hold no match
	with     map[string]struct{} // files that hold one
	budget   *match.Budget       // of contents; nil while only rules are read
}

// content is what a batch brought of a file.
type content struct {
	data []byte
	err  error
}

// listTree lists what is below dir. An error means that dir can't be listed;
// a nil tree that it is better walked folder by folder.
func (e *Engine) listTree(ctx context.Context, dir string) (*tree, error) {
	r, err := e.run(ctx, "open", dir, request{limit: maxListing}, "tree_list")
	if errors.Is(err, ops.ErrNotDir) || errors.Is(err, ops.ErrTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &tree{
		e: e, dir: dir, folders: map[string][]fs.DirEntry{},
		contents: map[string]content{}, batch: firstBatch,
	}
	if !t.fill(dir, r) {
		return nil, e.transport(ops.KindProtocol, e.label+": incomplete listing of "+dir, nil)
	}
	return t, nil
}

// fill takes over a listing of dir.
func (t *tree) fill(dir string, r reply) bool {
	if len(r) != 3 || len(r[1].mark) != 2 {
		return false
	}
	t.partial = t.partial || r[1].mark[1] != "0"
	types := []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeIrregular}
	list := string(r[1].data)
	for list != "" {
		var name string
		name, list, _ = strings.Cut(list, "\x00")
		times := 1
		for times < 4 && strings.HasPrefix(list, name+"\x00") {
			list = list[len(name)+1:]
			times++
		}
		t.add(dir, strings.TrimPrefix(name, "./"), types[times-1])
	}
	return true
}

func (t *tree) add(dir, rel string, typ fs.FileMode) {
	full := dir
	if rel != "." {
		full = path.Join(dir, rel)
		parent, base := path.Split(full)
		parent = path.Clean(parent)
		t.folders[parent] = append(t.folders[parent], ops.DirEntry{EntryName: base, EntryType: typ})
	}
	if base := path.Base(rel); typ.IsDir() && base != ".git" && base != "node_modules" {
		if _, ok := t.folders[full]; !ok {
			t.folders[full] = nil
		}
	}
}

// Stat implements match.Lister.
func (t *tree) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if name == t.dir {
		return ops.FileInfo{FileName: path.Base(name), FileMode: fs.ModeDir | 0o755}, nil
	}
	return t.e.Stat(ctx, name)
}

// ReadDir implements match.Lister.
func (t *tree) ReadDir(ctx context.Context, name string, yield func(fs.DirEntry) bool) error {
	entries, ok := t.listed(ctx, name)
	if !ok {
		return t.e.ReadDir(ctx, name, yield)
	}
	for _, e := range entries {
		if !yield(e) {
			break
		}
	}
	return nil
}

// listed returns the entries of a folder, and false if only the engine knows them.
func (t *tree) listed(ctx context.Context, name string) ([]fs.DirEntry, bool) {
	t.listing.Lock()
	defer t.listing.Unlock()
	entries, ok := t.folders[name]
	if !ok && strings.HasPrefix(name, strings.TrimSuffix(t.dir, "/")+"/") {
		// It was left out, and is wanted after all.
		r, err := t.e.run(ctx, "open", name, request{limit: maxListing}, "tree_list")
		if err == nil && t.fill(name, r) {
			entries, ok = t.folders[name]
		}
	}
	return entries, ok && (!t.partial || len(entries) > 0)
}

// ReadFile implements match.FileSystem.
func (t *tree) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock() // a batch brings what the others wait for
	c, ok := t.contents[name]
	if i, planned := t.place[name]; !ok && planned {
		if _, hit := t.with[name]; t.without && !hit {
			return nil, nil
		}
		if !t.allows(name) {
			return nil, nil
		}
		if err := t.pull(ctx, t.next(i)); err != nil {
			return nil, err
		}
		c, ok = t.contents[name]
	}
	if !ok || c.err == nil && len(c.data) >= maxPullFile {
		delete(t.contents, name)
		c.data, c.err = t.e.ReadFile(ctx, name, limit)
		t.spend(name, c)
	}
	if !match.HoldsRules(name) {
		delete(t.contents, name) // other files are wanted once
	}
	if c.err == nil && limit > 0 && int64(len(c.data)) > limit {
		c.err = pathError("read", name, ops.ErrTooLarge)
	}
	return c.data, c.err
}

func (t *tree) allows(name string) bool { return t.budget == nil || t.budget.Allows(name) }

// spend charges what was fetched when it is fetched: who wants it later, and in which
// order, must not change how much that is.
func (t *tree) spend(name string, c content) {
	if t.budget != nil {
		t.budget.Spend(name, len(c.data))
	}
}

// next chooses a batch of files from the i-th on.
func (t *tree) next(i int) []string {
	var names []string
	for ; i < len(t.order) && len(names) < t.batch; i++ {
		name := t.order[i]
		_, hit := t.with[name]
		if _, have := t.contents[name]; !have && (!t.without || hit) {
			names = append(names, name)
		}
	}
	t.batch = min(2*t.batch, lastBatch)
	return names
}

// pull brings the beginnings of files in one round trip.
func (t *tree) pull(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	bulk := t.bulk(names)
	r, err := t.e.run(ctx, "read", t.dir, request{bulk: bulk}, "pull", strconv.Itoa(maxPullFile), strconv.Itoa(len(bulk)))
	if err != nil {
		return err
	}
	if len(r) != len(names)+1 {
		return nil // they are read one by one
	}
	for i, name := range names {
		switch m := r[i].mark; {
		case len(m) == 2 && m[1] == "ok0":
			t.contents[name] = content{data: r[i].data}
		case len(m) == 2 && m[1] == "gone":
			t.contents[name] = content{err: pathError("read", name, fs.ErrNotExist)}
		default:
			// Whatever it is, the plain way says it better.
			data, err := t.e.ReadFile(ctx, name, 0)
			if ctx.Err() != nil {
				return err
			}
			t.contents[name] = content{data, err}
		}
		t.spend(name, t.contents[name])
	}
	return nil
}

// bulk lists names as the scripts want them.
func (t *tree) bulk(names []string) []byte {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(t.rel(n) + "\x00")
	}
	return []byte(b.String())
}

func (t *tree) rel(name string) string {
	return "./" + strings.TrimPrefix(strings.TrimPrefix(name, t.dir), "/")
}

// ignoreFiles brings all files with ignore rules below the folder.
func (t *tree) ignoreFiles(ctx context.Context) error {
	var names []string
	for dir, entries := range t.folders {
		for _, e := range entries {
			switch {
			case e.Name() == ".gitignore" && e.Type().IsRegular():
				names = append(names, path.Join(dir, ".gitignore"))
			case e.Name() == ".git" && e.IsDir():
				names = append(names, path.Join(dir, ".git/info/exclude"))
			}
		}
	}
	return t.pull(ctx, names)
}

// plan walks the files that a search will want, so that they can travel in
// batches. Files that it misses are read one by one.
func (t *tree) plan(ctx context.Context, req ops.SearchRequest) error {
	pattern := req.Glob
	if pattern == "" {
		pattern = "**"
	}
	var order []string
	place := map[string]int{}
	_, err := match.Glob(ctx, t, match.GlobRequest{Root: req.Root, Path: req.Path, Pattern: pattern}, func(p string) bool {
		if !strings.HasSuffix(p, "/") {
			full := path.Join(t.dir, p)
			place[full] = len(order)
			order = append(order, full)
		}
		return ctx.Err() == nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order, t.place = order, place
	return err
}

// filter asks the target which of the planned files hold one of texts, a line each, so
// that no other has to travel. Files that can't be read count as holding one.
func (t *tree) filter(ctx context.Context, texts string, fold bool) error {
	with := map[string]struct{}{}
	for rest := t.order; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && size < maxNames {
			size += len(rest[n])
			n++
		}
		flag := ""
		if fold {
			flag = "-i"
		}
		bulk := t.bulk(rest[:n])
		r, err := t.e.run(ctx, "search", t.dir, request{bulk: bulk}, "grep_list", texts, flag, strconv.Itoa(len(bulk)))
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(string(r[0].data), "\n") {
			if len(line) > 3 {
				with[path.Join(t.dir, line[1:])] = struct{}{}
			}
		}
		for _, name := range rest[:n] {
			if strings.Contains(name, "\n") {
				with[name] = struct{}{}
			}
		}
		rest = rest[n:]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.with, t.without = with, true
	return nil
}
