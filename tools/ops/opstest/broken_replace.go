package opstest

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

type replaceFunc func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error)

// trees makes a breach of WriteTree, and replaces one of ReplaceFile.
func trees(check, fault string, broken func(m *Memory, next operations) writeFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.tree = broken(m, next) })
}

func replaces(check, fault string, broken func(m *Memory, next operations) replaceFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.replace = broken(m, next) })
}

func brokenTrees() []Breach {
	return []Breach{
		trees("TreeMakesFolders", "a file in a new folder stays empty", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				if _, err := next.Stat(ctx, path.Dir(p)); errors.Is(err, fs.ErrNotExist) {
					data = nil
				}
				return next.WriteTree(ctx, p, data)
			}
		}),
		trees("TreeReplaces", "a replaced file gets the mode of a new one", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteTree(ctx, p, data)
				if err == nil {
					err = m.Chmod(p, 0o644)
				}
				return report, err
			}
		}),
		trees("TreeReport", "the report has the path as it was given", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteTree(ctx, p, data)
				report.Path = p
				return report, err
			}
		}),
		trees("TreeRefused", "a rename does not ask for the file's permission", func(m *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteTree(ctx, p, data)
				if errors.Is(err, fs.ErrPermission) {
					err = m.PutFile(p, data, 0o444)
				}
				return report, err
			}
		}),
		trees("TreeError", "nobody is told that folders were made", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteTree(ctx, p, data)
				if tree := (*ops.TreeError)(nil); errors.As(err, &tree) {
					err = tree.Err
				}
				return report, err
			}
		}),
		trees("TreeConfined", "a write with folders is not confined", func(m *Memory, _ operations) writeFunc {
			return view{Memory: m}.WriteTree
		}),
		trees("CancelledTree", "a write with folders does not look at its context", func(_ *Memory, next operations) writeFunc {
			return func(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
				return next.WriteTree(context.WithoutCancel(ctx), p, data)
			}
		}),
	}
}

func brokenReplaces() []Breach {
	return []Breach{
		replaces("ReplaceSwaps", "a replaced file gets the mode of a new one", func(m *Memory, next operations) replaceFunc {
			return func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
				report, err := next.ReplaceFile(ctx, p, expect, data)
				if err == nil {
					err = m.Chmod(p, 0o644)
				}
				return report, err
			}
		}),
		replaces("ReplaceChanged", "a new file takes the place of one that exists", func(_ *Memory, next operations) replaceFunc {
			return func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
				report, err := next.ReplaceFile(ctx, p, expect, data)
				if errors.Is(err, ops.ErrChanged) && !expect.Exists {
					return next.WriteFile(ctx, p, data)
				}
				return report, err
			}
		}),
		replaces("ReplaceReport", "the report has the path as it was given", func(_ *Memory, next operations) replaceFunc {
			return func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
				report, err := next.ReplaceFile(ctx, p, expect, data)
				report.Path = p
				return report, err
			}
		}),
		replaces("ReplaceRefused", "a folder is a file that has changed", func(_ *Memory, next operations) replaceFunc {
			return func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
				report, err := next.ReplaceFile(ctx, p, expect, data)
				if errors.Is(err, ops.ErrIsDir) {
					err = pathError("replace", p, ops.ErrChanged)
				}
				return report, err
			}
		}),
		replaces("ReplaceOnce", "there is room between comparing and writing", func(_ *Memory, next operations) replaceFunc {
			return func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
				old, err := next.ReadFile(ctx, p, 0)
				if err == nil && expect.Exists && steps.Hash(old) == expect.Hash && int64(len(old)) == expect.Size {
					return slow{next}.WriteFile(ctx, p, data)
				}
				return next.ReplaceFile(ctx, p, expect, data)
			}
		}),
		replaces("ReplaceConfined", "a replacement is not confined", func(m *Memory, _ operations) replaceFunc {
			return view{Memory: m}.ReplaceFile
		}),
		replaces("CancelledReplace", "a replacement does not look at its context", func(_ *Memory, next operations) replaceFunc {
			return func(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
				return next.ReplaceFile(context.WithoutCancel(ctx), p, expect, data)
			}
		}),
	}
}
