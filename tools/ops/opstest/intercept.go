package opstest

import (
	"context"
	"io"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

// Op names an operation of the contract.
type Op string

// The operations.
const (
	OpAccess       Op = "access"
	OpReadFile     Op = "read file"
	OpReadWindow   Op = "read window"
	OpOpen         Op = "open"
	OpMkdirAll     Op = "mkdir"
	OpWriteFile    Op = "write file"
	OpEditFile     Op = "edit file"
	OpWriteTree    Op = "write tree"
	OpReplaceFile  Op = "replace file"
	OpReadVersion  Op = "read version"
	OpWriteVersion Op = "write version"
	OpStat         Op = "stat"
	OpReadDir      Op = "read dir"
	OpCanonical    Op = "canonical"
	OpExec         Op = "exec"
)

// around is called in place of each operation. subject is the path, or the
// script of a command; call runs the operation.
type around func(op Op, subject string, call func() error) error

// intercepted are the operations with around at each of them.
func intercepted(next operations, do around) altered {
	return altered{
		operations: next,
		access: func(ctx context.Context, p string) error {
			return do(OpAccess, p, func() error { return next.Access(ctx, p) })
		},
		read: func(ctx context.Context, p string, limit int64) (data []byte, err error) {
			err = do(OpReadFile, p, func() (err error) { data, err = next.ReadFile(ctx, p, limit); return err })
			return data, err
		},
		window: func(ctx context.Context, p string, req ops.WindowRequest) (win ops.Window, err error) {
			err = do(OpReadWindow, p, func() (err error) { win, err = next.ReadWindow(ctx, p, req); return err })
			return win, err
		},
		open: func(ctx context.Context, p string) (r io.ReadCloser, err error) {
			err = do(OpOpen, p, func() (err error) { r, err = next.Open(ctx, p); return err })
			return r, err
		},
		mkdir: func(ctx context.Context, dir string) error {
			return do(OpMkdirAll, dir, func() error { return next.MkdirAll(ctx, dir) })
		},
		write: func(ctx context.Context, p string, data []byte) (report ops.WriteReport, err error) {
			err = do(OpWriteFile, p, func() (err error) { report, err = next.WriteFile(ctx, p, data); return err })
			return report, err
		},
		edit: func(ctx context.Context, p string, req ops.EditRequest) (report ops.EditReport, err error) {
			err = do(OpEditFile, p, func() (err error) { report, err = next.EditFile(ctx, p, req); return err })
			return report, err
		},
		tree: func(ctx context.Context, p string, data []byte) (report ops.WriteReport, err error) {
			err = do(OpWriteTree, p, func() (err error) { report, err = next.WriteTree(ctx, p, data); return err })
			return report, err
		},
		replace: func(ctx context.Context, p string, expect ops.Expect, data []byte) (report ops.WriteReport, err error) {
			err = do(OpReplaceFile, p, func() (err error) { report, err = next.ReplaceFile(ctx, p, expect, data); return err })
			return report, err
		},
		reread: func(ctx context.Context, p string, limit int64) (data []byte, v ops.Version, err error) {
			err = do(OpReadVersion, p, func() (err error) { data, v, err = next.ReadVersion(ctx, p, limit); return err })
			return data, v, err
		},
		rewrite: func(ctx context.Context, p string, v ops.Version, data []byte) (report ops.WriteReport, err error) {
			err = do(OpWriteVersion, p, func() (err error) { report, err = next.WriteVersion(ctx, p, v, data); return err })
			return report, err
		},
		stat: func(ctx context.Context, p string) (info fs.FileInfo, err error) {
			err = do(OpStat, p, func() (err error) { info, err = next.Stat(ctx, p); return err })
			return info, err
		},
		list: func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
			return do(OpReadDir, p, func() error { return next.ReadDir(ctx, p, yield) })
		},
		canonical: func(ctx context.Context, p string) (c string, err error) {
			err = do(OpCanonical, p, func() (err error) { c, err = next.Canonical(ctx, p); return err })
			return c, err
		},
		exec: func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (exit ops.Exit, err error) {
			err = do(OpExec, cmd.Script, func() (err error) { exit, err = next.Exec(ctx, cmd, output); return err })
			return exit, err
		},
	}
}
