package opstest

import (
	"context"
	"errors"

	"github.com/piremote/piremote/tools/ops"
)

type (
	versionReadFunc  func(ctx context.Context, p string, limit int64) ([]byte, ops.Version, error)
	versionWriteFunc func(ctx context.Context, p string, version ops.Version, data []byte) (ops.WriteReport, error)
)

// versions makes a breach of WriteVersion.
func versions(check, fault string, broken func(m *Memory, next operations) versionWriteFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.rewrite = broken(m, next) })
}

func brokenVersions() []Breach {
	return []Breach{
		alter("VersionRead", "the version of a window is not that of the whole file", func(_ *Memory, next operations, a *altered) {
			a.window = func(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error) {
				win, err := next.ReadWindow(ctx, p, req)
				win.Version.Size = int64(len(win.Data))
				return win, err
			}
		}),
		versions("VersionWrites", "the report tells the version of the old file", func(_ *Memory, next operations) versionWriteFunc {
			return func(ctx context.Context, p string, version ops.Version, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteVersion(ctx, p, version, data)
				report.Version = version
				return report, err
			}
		}),
		versions("VersionChanged", "a file that is missing is made", func(_ *Memory, next operations) versionWriteFunc {
			return func(ctx context.Context, p string, version ops.Version, data []byte) (ops.WriteReport, error) {
				report, err := next.WriteVersion(ctx, p, version, data)
				if _, serr := next.Stat(ctx, p); errors.Is(err, ops.ErrChanged) && serr != nil {
					return next.WriteTree(ctx, p, data)
				}
				return report, err
			}
		}),
		versions("VersionConfined", "a version is written where it is not confined", func(m *Memory, _ operations) versionWriteFunc {
			return view{Memory: m}.WriteVersion
		}),
		versions("CancelledVersion", "a version is written without a look at the context", func(_ *Memory, next operations) versionWriteFunc {
			return func(ctx context.Context, p string, version ops.Version, data []byte) (ops.WriteReport, error) {
				return next.WriteVersion(context.WithoutCancel(ctx), p, version, data)
			}
		}),
	}
}
