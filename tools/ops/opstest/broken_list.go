package opstest

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

type listFunc func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error

func lists(check, fault string, broken func(m *Memory, next operations) listFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.list = broken(m, next) })
}

func brokenLists() []Breach {
	return []Breach{
		lists("ReadDirTypes", "links have the type of what they lead to", func(_ *Memory, next operations) listFunc {
			return func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
				return next.ReadDir(ctx, p, func(e fs.DirEntry) bool {
					if info, err := next.Stat(ctx, p+"/"+e.Name()); err == nil {
						e = ops.DirEntry{EntryName: e.Name(), EntryType: info.Mode().Type()}
					}
					return yield(e)
				})
			}
		}),
		lists("ReadDirAll", "only the first page is listed", func(_ *Memory, next operations) listFunc {
			return func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
				n := 0
				return next.ReadDir(ctx, p, func(e fs.DirEntry) bool {
					n++
					return n <= 512 && yield(e)
				})
			}
		}),
		lists("ReadDirStops", "the listing goes on after false", func(_ *Memory, next operations) listFunc {
			return func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
				return next.ReadDir(ctx, p, func(e fs.DirEntry) bool {
					yield(e)
					return true
				})
			}
		}),
		lists("ReadDirErrors", "a missing folder is empty", func(_ *Memory, next operations) listFunc {
			return func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
				err := next.ReadDir(ctx, p, yield)
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
				return err
			}
		}),
		lists("NamesListed", "names end at a line feed", func(_ *Memory, next operations) listFunc {
			return func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
				return next.ReadDir(ctx, p, func(e fs.DirEntry) bool {
					name, _, _ := strings.Cut(e.Name(), "\n")
					return yield(ops.DirEntry{EntryName: name, EntryType: e.Type()})
				})
			}
		}),
		alter("StatFollows", "links are not followed", func(m *Memory, next operations, a *altered) {
			a.stat = func(ctx context.Context, p string) (fs.FileInfo, error) {
				info, err := next.Stat(ctx, p)
				if own, lerr := m.Lstat(p); err == nil && lerr == nil {
					info = own
				}
				return info, err
			}
		}),
		alter("StatFacts", "the size is that in blocks", func(_ *Memory, next operations, a *altered) {
			a.stat = func(ctx context.Context, p string) (fs.FileInfo, error) {
				info, err := next.Stat(ctx, p)
				if err != nil {
					return nil, err
				}
				return ops.FileInfo{FileName: path.Base(p), FileSize: (info.Size() + 511) / 512 * 512, FileMode: info.Mode(), Modified: info.ModTime()}, nil
			}
		}),
		{Check: "SearchEqualsPlain", Fault: "a search finds nothing", Break: func(m *Memory) ops.Set {
			return withOperations(m.Set(), blindSearch{view{m, m.options.Root}})
		}},
		{Check: "GlobEqualsPlain", Fault: "a glob finds nothing", Break: func(m *Memory) ops.Set {
			return withOperations(m.Set(), blindGlob{view{m, m.options.Root}})
		}},
	}
}

type blindSearch struct{ operations }

func (blindSearch) Search(ctx context.Context, _ ops.SearchRequest, _ func(ops.SearchLine) bool) (ops.SearchReport, error) {
	return ops.SearchReport{}, ctx.Err()
}

type blindGlob struct{ operations }

func (blindGlob) Glob(ctx context.Context, _ ops.GlobRequest, _ func(string) bool) (ops.SearchReport, error) {
	return ops.SearchReport{}, ctx.Err()
}
