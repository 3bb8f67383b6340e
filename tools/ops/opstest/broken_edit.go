package opstest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"time"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

type editFunc func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error)

// edits makes a breach of EditFile.
func edits(check, fault string, broken func(m *Memory, next operations) editFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.edit = broken(m, next) })
}

func brokenEdits() []Breach {
	return []Breach{
		edits("EditApplies", "what is not UTF-8 is replaced", func(m *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				report, err := next.EditFile(ctx, p, req)
				if err != nil {
					return report, err
				}
				data, err := m.GetFile(p)
				if err == nil && !utf8.Valid(data) { // between two edits of text nothing comes
					_, err = next.WriteFile(ctx, p, bytes.ToValidUTF8(data, []byte("\uFFFD")))
				}
				return report, err
			}
		}),
		edits("EditKeepsMode", "an edited file gets the mode of a new one", func(m *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				report, err := next.EditFile(ctx, p, req)
				if err == nil {
					err = m.Chmod(p, 0o644)
				}
				return report, err
			}
		}),
		edits("EditFollowsLink", "a link is replaced by a file", func(m *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				info, err := m.Lstat(p)
				if err == nil && info.Mode()&fs.ModeSymlink != 0 {
					detach(ctx, m, next, p)
				}
				return next.EditFile(ctx, p, req)
			}
		}),
		edits("EditKeepsHardLinks", "the rename splits hard links", func(m *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				m.mu.Lock()
				at, err := m.walk(p, false)
				several := err == nil && at.node != nil && !at.node.isDir() && at.node.links > 1
				m.mu.Unlock()
				if several {
					detach(ctx, m, next, p)
				}
				return next.EditFile(ctx, p, req)
			}
		}),
		edits("EditMismatch", "the sentence comes as just any error", func(_ *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				report, err := next.EditFile(ctx, p, req)
				if mismatch := (*ops.MismatchError)(nil); errors.As(err, &mismatch) {
					err = errors.New(mismatch.Msg)
				}
				return report, err
			}
		}),
		edits("EditRefused", "a rename does not ask for the file's permission", func(m *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				report, err := next.EditFile(ctx, p, req)
				if errors.Is(err, fs.ErrPermission) {
					err = m.PutFile(p, []byte("new"), 0o444)
				}
				return report, err
			}
		}),
		edits("EditLimit", "a file of any size is edited", func(_ *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				req.Limit = 0
				return next.EditFile(ctx, p, req)
			}
		}),
		edits("EditExpects", "any content is edited", func(_ *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				req.Expect = ""
				return next.EditFile(ctx, p, req)
			}
		}),
		edits("EditLosesNothing", "there is room between reading and writing", func(_ *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				return steps.EditFile(ctx, struct{ ops.EditOperations }{slow{next}}, p, req)
			}
		}),
		edits("EditConfined", "an edit is not confined", func(m *Memory, _ operations) editFunc {
			return view{Memory: m}.EditFile
		}),
		edits("CancelledEdit", "an edit does not look at its context", func(_ *Memory, next operations) editFunc {
			return func(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
				return next.EditFile(context.WithoutCancel(ctx), p, req)
			}
		}),
	}
}

// detach puts a file of its own in the place of a name, with the same content.
func detach(ctx context.Context, m *Memory, next operations, p string) {
	data, err := next.ReadFile(ctx, p, 0)
	if err == nil && m.Remove(p) == nil {
		_ = m.PutFile(p, data, 0o644) // the name was there
	}
}

// slow takes its time before it writes.
type slow struct{ operations }

func (s slow) WriteFile(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
	disk := time.NewTimer(2 * time.Millisecond)
	defer disk.Stop()
	<-disk.C
	return s.operations.WriteFile(ctx, p, data)
}
