package ssh

import (
	"context"
	"io/fs"
	"sync"

	"github.com/pkg/sftp"
)

// looks is how often the folder may change while it is looked at.
const looks = 3

// sameTree reports whether a folder, by its physical path, is the same for the SFTP
// server and the shell. Some hosts show SFTP another root: a path that both know
// would then be another file for each (hazard SFTP-12). Nothing is written for it.
func (w *Workspace) sameTree(ctx context.Context, dir string) (bool, error) {
	for range looks {
		var bySFTP, byShell fs.FileInfo
		var sftpErr, shellErr error
		var both sync.WaitGroup
		both.Go(func() {
			bySFTP, sftpErr = retry(ctx, w.clients, func(ctx context.Context, s *sftpSession) (fs.FileInfo, error) {
				return call(ctx, s, func(c *sftp.Client) (fs.FileInfo, error) { return c.Lstat(dir) })
			})
		})
		both.Go(func() { byShell, shellErr = w.engine.Stat(ctx, dir) })
		both.Wait()
		switch {
		case ctx.Err() != nil:
			return false, ended(ctx)
		case shellErr != nil:
			return false, shellErr
		case sftpErr != nil:
			return false, nil //nolint:nilerr // the SFTP server has no such path
		case bySFTP.Mode() == byShell.Mode() && bySFTP.ModTime().Unix() == byShell.ModTime().Unix():
			return true, nil
		}
	}
	return false, nil
}
