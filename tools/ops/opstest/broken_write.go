package opstest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

type writeFunc func(ctx context.Context, p string, data []byte) (ops.WriteReport, error)

// writes makes a breach of WriteFile.
func writes(check, fault string, broken func(m *Memory, next operations) writeFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.write = broken(m, next) })
}

// changed makes a breach that alters data before it is written to a file that
// has the old content, or nil if it is new.
func changed(check, fault string, change func(old, data []byte) []byte) Breach {
	return writes(check, fault, func(_ *Memory, next operations) writeFunc {
		return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
			old, err := next.ReadFile(ctx, p, 0)
			if err != nil {
				old = nil
			}
			return next.WriteFile(ctx, p, change(old, data))
		}
	})
}

func brokenWrites() []Breach {
	return append([]Breach{
		changed("WriteCreates", "the content ends at a NUL", func(_, data []byte) []byte {
			data, _, _ = bytes.Cut(data, []byte{0})
			return data
		}),
		changed("WriteReplaces", "the tail of longer old content stays", func(old, data []byte) []byte {
			if len(old) > len(data) {
				return append(bytes.Clone(data), old[len(data):]...)
			}
			return data
		}),
		writes("WriteEmpty", "nothing is done for no data", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				if len(data) == 0 {
					return ops.WriteReport{Path: p}, ctx.Err()
				}
				return next.WriteFile(ctx, p, data)
			}
		}),
		writes("WriteKeepsMode", "a replaced file gets the mode of a new one", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteFile(ctx, p, data)
				if err == nil {
					err = m.Chmod(p, 0o644)
				}
				return report, err
			}
		}),
		writes("WriteFollowsLink", "a link is replaced by a file", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				if info, err := m.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 && next.Access(ctx, p) == nil {
					if err := m.Remove(p); err != nil {
						return ops.WriteReport{}, err
					}
				}
				return next.WriteFile(ctx, p, data)
			}
		}),
		writes("WriteKeepsHardLinks", "the rename splits hard links", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				m.mu.Lock()
				at, err := m.walk(p, false)
				several := err == nil && at.node != nil && !at.node.isDir() && at.node.links > 1
				if several {
					m.remove(at)
				}
				m.mu.Unlock()
				return next.WriteFile(ctx, p, data)
			}
		}),
		writes("WriteLeavesNothing", "a temporary file stays after an error", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteFile(ctx, p, data)
				if errors.Is(err, ops.ErrIsDir) {
					err = errors.Join(err, m.PutFile(path.Dir(p)+"/.piremote-tmp-1", data, 0o600))
				}
				return report, err
			}
		}),
		writes("WriteAtomic", "a file is emptied, then filled", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				if len(data) < 64<<10 || next.Access(ctx, p) != nil {
					return next.WriteFile(ctx, p, data)
				}
				if _, err := next.WriteFile(ctx, p, data[:len(data)/2]); err != nil {
					return ops.WriteReport{}, err
				}
				disk := time.NewTimer(20 * time.Millisecond)
				defer disk.Stop()
				<-disk.C
				return next.WriteFile(ctx, p, data)
			}
		}),
		writes("WriteReadOnlyFile", "a rename does not ask for the file's permission", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteFile(ctx, p, data)
				if errors.Is(err, fs.ErrPermission) {
					err = m.PutFile(p, data, 0o444)
				}
				return report, err
			}
		}),
		writes("WriteFolder", "the error is another", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteFile(ctx, p, data)
				if errors.Is(err, ops.ErrIsDir) {
					err = pathError("rename", p, fs.ErrExist)
				}
				return report, err
			}
		}),
		writes("WriteMissingParent", "missing parents are made", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				if _, err := next.Stat(ctx, path.Dir(p)); errors.Is(err, fs.ErrNotExist) {
					if err := next.MkdirAll(ctx, path.Dir(p)); err != nil {
						return ops.WriteReport{}, err
					}
				}
				return next.WriteFile(ctx, p, data)
			}
		}),
		writes("WriteReport", "the report has the path as it was given", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteFile(ctx, p, data)
				report.Path = p
				return report, err
			}
		}),
		writes("CancelledWrite", "a write does not look at its context", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				return next.WriteFile(context.WithoutCancel(ctx), p, data)
			}
		}),
		writes("NamesWritten", "the name goes through a shell", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteFile(ctx, p, data)
				if strings.Contains(p, "$(touch pwned)") && err == nil {
					err = m.PutFile(path.Dir(p)+"/pwned", nil, 0o644)
				}
				return report, err
			}
		}),
	}, brokenMkdirs()...)
}

func brokenMkdirs() []Breach {
	return []Breach{
		alter("MkdirNested", "only the first missing folder is made", func(_ *Memory, next operations, a *altered) {
			a.mkdir = func(ctx context.Context, dir string) error {
				if _, err := next.Stat(ctx, path.Dir(dir)); errors.Is(err, fs.ErrNotExist) {
					dir = path.Dir(dir)
				}
				return next.MkdirAll(ctx, dir)
			}
		}),
		alter("MkdirExisting", "an existing folder is an error", func(_ *Memory, next operations, a *altered) {
			a.mkdir = func(ctx context.Context, dir string) error {
				if _, err := next.Stat(ctx, dir); err == nil {
					return pathError("mkdir", dir, fs.ErrExist)
				}
				return next.MkdirAll(ctx, dir)
			}
		}),
		alter("MkdirFileInTheWay", "a file in the way is taken for the folder", func(_ *Memory, next operations, a *altered) {
			a.mkdir = func(ctx context.Context, dir string) error {
				err := next.MkdirAll(ctx, dir)
				if errors.Is(err, ops.ErrNotDir) {
					err = nil
				}
				return err
			}
		}),
	}
}
