package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/tools/ops"
)

// MkdirAll creates what is missing of a folder.
func (f *sftpFiles) MkdirAll(ctx context.Context, name string) error {
	s, err := f.clients.get(ctx)
	if err != nil {
		return f.clients.unavailable(err)
	}
	p, err := f.walker.follow(ctx, s, name)
	switch {
	case err != nil:
	case p.info != nil && !p.info.IsDir():
		err = ops.ErrNotDir
	case p.info == nil && f.walker.frozen(p.path):
		err = ops.ErrReadOnly
	}
	if err != nil {
		if s.lost(err) {
			err = s.channel.link.lostError(err) // nothing was changed yet
		}
		return failure(ctx, "mkdir", name, err)
	}
	for i := p.missing - 1; i >= 0; i-- {
		dir := p.path
		for range i {
			dir = path.Dir(dir)
		}
		_, err := call(ctx, s, func(c *sftp.Client) (struct{}, error) {
			err := c.Mkdir(dir)
			if err == nil || s.lost(err) {
				return struct{}{}, err
			}
			// Another may have made it; the reason of a failure is not told.
			if info, serr := c.Lstat(dir); serr == nil && info.IsDir() {
				return struct{}{}, nil
			}
			return struct{}{}, f.reason(c, sftpError(err), path.Dir(dir))
		})
		if s.lost(err) {
			err = s.channel.link.unknown(err)
		}
		if err != nil {
			return failure(ctx, "mkdir", name, err)
		}
	}
	return nil
}

// reason finds out what a "failure" in dir was about.
func (f *sftpFiles) reason(c *sftp.Client, err error, dir string) error {
	if !errors.Is(err, errFailure) {
		return err
	}
	vfs, verr := c.StatVFS(dir)
	if verr != nil {
		return err
	}
	const readOnly = 1 // SSH_FXE_STATVFS_ST_RDONLY
	switch {
	case vfs.Flag&readOnly != 0:
		return ops.ErrReadOnly
	case vfs.Bavail == 0 || vfs.Ffree == 0 && vfs.Files > 0:
		return ops.ErrNoSpace
	}
	return err
}

// upload is one WriteFile.
type upload struct {
	files   *sftpFiles
	session *sftpSession
	place   place
	data    []byte
	expect  *ops.Version // that the file must be of; nil if any will do
	temp    string
	made    bool        // temp exists, as far as is known
	version ops.Version // of the new file
	file    *sftp.File  // temp, while it is open
}

// WriteFile replaces a file: a new file in the same folder, closed to others
// until it has owner and mode of the old one, synced, its size checked, renamed
// over the target. (Hazards SFTP-02, SFTP-05, SFTP-09.)
func (f *sftpFiles) WriteFile(ctx context.Context, name string, data []byte) (ops.WriteReport, error) {
	return f.write(ctx, name, data, nil)
}

// WriteVersion implements ops.VersionWriter with the looks that WriteFile takes.
// Servers tell times in seconds.
func (f *sftpFiles) WriteVersion(ctx context.Context, name string, v ops.Version, data []byte) (ops.WriteReport, error) {
	report, err := f.write(ctx, name, data, &v)
	if errors.Is(err, fs.ErrNotExist) {
		err = failure(ctx, "write", name, ops.ErrChanged)
	}
	return report, err
}

// versionOf is what SFTP tells of the state of a file.
func versionOf(info fs.FileInfo) ops.Version {
	return ops.Version{Size: info.Size(), Modified: info.ModTime()}
}

// write replaces a file, if it is of the version that is expected, unless that is nil.
func (f *sftpFiles) write(ctx context.Context, name string, data []byte, expect *ops.Version) (ops.WriteReport, error) {
	s, err := f.clients.get(ctx)
	if err != nil {
		return ops.WriteReport{}, f.clients.unavailable(err)
	}
	u := &upload{files: f, session: s, data: data, expect: expect}
	report, err := u.run(ctx, name)
	if err != nil {
		if s.lost(err) && ops.KindOf(err) == "" {
			err = s.channel.link.lostError(err) // the old bytes are there
		}
		return ops.WriteReport{}, failure(ctx, "write", name, err)
	}
	return report, nil
}

func (u *upload) run(ctx context.Context, name string) (ops.WriteReport, error) {
	var err error
	if u.place, err = u.files.walker.follow(ctx, u.session, name); err != nil {
		return ops.WriteReport{}, err
	}
	old := u.place.info
	switch {
	case u.files.walker.frozen(u.place.path):
		return ops.WriteReport{}, ops.ErrReadOnly
	case old == nil && u.place.missing > 1:
		return ops.WriteReport{}, fs.ErrNotExist
	case old == nil:
	case old.IsDir():
		return ops.WriteReport{}, ops.ErrIsDir
	case !old.Mode().IsRegular():
		return ops.WriteReport{}, ops.ErrNotRegular
	case old.Mode().Perm()&0o222 == 0:
		return ops.WriteReport{}, fs.ErrPermission // for root too: whoever took the bits away meant it
	}
	if u.expect != nil && (old == nil || !u.expect.Same(versionOf(old))) {
		return ops.WriteReport{}, ops.ErrChanged
	}
	report := ops.WriteReport{Path: u.place.path, Created: old == nil}
	links, allowed := u.countLinks(ctx), make(chan error, 1)
	go func() { allowed <- u.mayWrite(ctx) }()
	defer func() { u.cleanUp(ctx) }()
	reason, err := u.prepare(ctx)
	n, denied := <-links, <-allowed
	switch {
	case denied != nil:
		return report, denied
	case err != nil:
		return report, err
	case n > 1:
		reason = fmt.Sprintf("the file has %d names", n)
	}
	if reason != "" {
		report.InPlace = reason
		return report, u.overwrite(ctx)
	}
	report.Version = u.version
	return report, u.replace(ctx)
}

// mayWrite checks that the file can be opened for writing: a rename over it
// would need no such right. Nothing is changed.
func (u *upload) mayWrite(ctx context.Context) error {
	if u.place.info == nil {
		return nil
	}
	file, err := openFile(ctx, u.session, u.place.path, os.O_WRONLY)
	switch {
	case err == nil:
		go func() { _ = file.Close() }() // nobody waits for the answer
		return nil
	case errors.Is(err, errFailure): // busy, perhaps: replacing may work
		return nil
	}
	return err
}

// prepare makes the temporary file. A reason says why it can't be used.
func (u *upload) prepare(ctx context.Context) (reason string, err error) {
	s, old := u.session, u.place.info
	u.temp = path.Join(path.Dir(u.place.path), ".piremote-tmp-"+randomHex())
	u.made = true
	file, err := openFile(ctx, s, u.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		if ctx.Err() == nil && !s.lost(err) {
			u.made = false
			if old != nil && errors.Is(err, fs.ErrPermission) {
				return "its folder can't take a new file", nil
			}
			_, err = call(ctx, s, func(c *sftp.Client) (struct{}, error) { return struct{}{}, u.files.reason(c, err, path.Dir(u.temp)) })
		}
		return "", err
	}
	u.file = file
	var mine fs.FileInfo
	if old != nil {
		// Open carries no mode: close the file to others before it has content.
		mine, err = call(ctx, s, func(*sftp.Client) (fs.FileInfo, error) {
			stat := make(chan error, 1)
			var info fs.FileInfo
			go func() {
				var err error
				info, err = file.Stat()
				stat <- err
			}()
			err := file.Chmod(0o600)
			if serr := <-stat; err == nil {
				err = serr
			}
			return info, err
		})
		switch {
		case err != nil && (s.lost(err) || ctx.Err() != nil):
			return "", err
		case err != nil:
			return "its mode can't be kept by a new file", nil
		}
	}
	if err := u.fill(ctx, file); err != nil {
		return "", err
	}
	return u.settle(ctx, file, mine)
}

// fill writes the content.
func (u *upload) fill(ctx context.Context, file *sftp.File) error {
	const block = 4 << 20 // cancellation is looked at between blocks
	for done := 0; done < len(u.data); {
		part := u.data[done:min(len(u.data), done+block)]
		n, err := call(ctx, u.session, func(c *sftp.Client) (int, error) {
			n, err := file.WriteAt(part, int64(done))
			if err != nil && !u.session.lost(err) {
				err = u.files.reason(c, sftpError(err), path.Dir(u.temp))
				if errors.Is(err, errFailure) {
					// The disk may be full for the next byte, and then not for the
					// last to look; there is no better guess for a failed write.
					err = fmt.Errorf("writing failed at byte %d: %w", done, err)
				}
			}
			return n, err
		})
		if err != nil {
			return err
		}
		if n != len(part) {
			return fmt.Errorf("the server took %d of %d bytes", n, len(part))
		}
		done += n
	}
	return nil
}

// settle gives the file owner and mode of the old, checks the size, and syncs. The
// library lets nothing else of a file go on while it syncs, so that comes last.
func (u *upload) settle(ctx context.Context, file *sftp.File, mine fs.FileInfo) (reason string, err error) {
	s, old := u.session, u.place.info
	type outcome struct {
		reason  string
		version ops.Version
	}
	got, err := call(ctx, s, func(c *sftp.Client) (outcome, error) {
		kept := make(chan string, 1)
		go func() { kept <- keep(file, old, mine) }()
		info, err := file.Stat()
		o := outcome{reason: <-kept}
		if err == nil {
			o.version = versionOf(info)
			err = syncFile(c, file)
		}
		if err != nil && !s.lost(err) {
			err = u.files.reason(c, sftpError(err), path.Dir(u.temp))
		}
		return o, err
	})
	if u.version = got.version; err == nil && got.version.Size != int64(len(u.data)) {
		err = fmt.Errorf("the new file has %d of %d bytes", got.version.Size, len(u.data))
	}
	return got.reason, err
}

// syncFile syncs where the server can.
func syncFile(c *sftp.Client, file *sftp.File) error {
	if _, ok := c.HasExtension("fsync@openssh.com"); !ok {
		return nil
	}
	err := file.Sync()
	if errors.Is(sftpError(err), errors.ErrUnsupported) {
		return nil
	}
	return err
}

// keep gives the new file owner and mode of the old one, or says why it can't.
func keep(file *sftp.File, old, mine fs.FileInfo) (reason string) {
	if old == nil {
		return ""
	}
	was, ok1 := old.Sys().(*sftp.FileStat)
	is, ok2 := mine.Sys().(*sftp.FileStat)
	if ok1 && ok2 && (was.UID != is.UID || was.GID != is.GID) {
		if err := file.Chown(int(was.UID), int(was.GID)); err != nil {
			return "its owner and group can't be kept by a new file"
		}
	}
	if err := file.Chmod(old.Mode()); err != nil {
		return "its mode can't be kept by a new file"
	}
	return ""
}
