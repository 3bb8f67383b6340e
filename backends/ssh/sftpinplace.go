package ssh

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// countLinks asks the shell how many names the file has, since version 3 of SFTP
// does not tell. The answer is 0 where it is not known. It runs beside the
// upload.
func (u *upload) countLinks(ctx context.Context) <-chan int {
	links := make(chan int, 1)
	if u.files.runner == nil || u.place.info == nil {
		links <- 0
		return links
	}
	go func() {
		nonce := randomHex()
		script := "LC_ALL=C;export LC_ALL;printf \"\\n%s \" " + nonce + ";ls -dn -- " + posix.Quote(u.place.path) + "\n"
		var out strings.Builder
		_, err := u.files.runner.Run(ctx, posix.Process{
			Argv: []string{"/bin/sh", "-c", "eval \"$(cat)\""}, Stdin: strings.NewReader(script),
			Stdout: func(p []byte) {
				if out.Len() < 1<<16 {
					out.Write(p)
				}
			},
		})
		n := 0
		if _, line, ok := strings.Cut(out.String(), "\n"+nonce+" "); ok && err == nil {
			if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "-") {
				n, _ = strconv.Atoi(f[1]) // 0 is not known
			}
		}
		links <- n
	}()
	return links
}

// maxRestore is the size up to which the old bytes are held while a file is
// written in place.
const maxRestore = 64 << 20

// overwrite writes a file in place. Its old bytes are read before, and put back
// if writing fails. It is not interrupted once it has begun.
func (u *upload) overwrite(ctx context.Context) error {
	s := u.session
	if u.place.info.Size() > maxRestore {
		return ops.ErrTooLarge
	}
	old, err := u.files.ReadFile(ctx, u.place.path, 0)
	if err != nil {
		return err
	}
	if err := u.unchanged(ctx); err != nil {
		return err
	}
	patience := time.Minute + time.Duration(len(u.data)>>14)*time.Second // 16 KiB/s at least
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	file, err := openFile(ctx, s, u.place.path, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { go func() { _ = file.Close() }() }() // again does no harm
	_, err = call(ctx, s, func(c *sftp.Client) (struct{}, error) {
		err := put(c, file, u.place.path, u.data)
		if err == nil || s.lost(err) {
			return struct{}{}, err
		}
		if back := put(c, file, u.place.path, old); back != nil {
			return struct{}{}, transport(ops.KindOutcomeUnknown, s.channel.link.label, err,
				"writing %s in place failed and its old content could not be put back", u.place.path)
		}
		return struct{}{}, u.files.reason(c, sftpError(err), path.Dir(u.place.path))
	})
	if s.lost(err) || ctx.Err() != nil {
		return transport(ops.KindOutcomeUnknown, s.channel.link.label, err,
			"the connection to %s was lost while %s was being written in place", s.channel.link.addr, u.place.path)
	}
	return err
}

// put makes data the content of an open file, whose path is name.
func put(c *sftp.Client, file *sftp.File, name string, data []byte) error {
	if err := writeAll(file, data); err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > int64(len(data)) {
		if err := shorten(c, file, name, data); err != nil {
			return err
		}
		info, err = file.Stat()
	}
	if err == nil {
		err = syncFile(c, file)
	}
	if err == nil && info.Size() != int64(len(data)) {
		err = errors.New("the size is wrong after writing")
	}
	return err
}

// shorten cuts a file that begins with data to its length. A server that changes no
// attributes may not do that; but it empties a file that is opened anew (hazard
// SFTP-09).
func shorten(c *sftp.Client, file *sftp.File, name string, data []byte) error {
	err := file.Truncate(int64(len(data)))
	var status *sftp.StatusError
	if !errors.Is(err, fs.ErrPermission) && !errors.As(err, &status) {
		return err
	}
	again, oerr := c.OpenFile(name, os.O_WRONLY|os.O_TRUNC)
	if oerr != nil {
		return err
	}
	err = writeAll(again, data)
	if cerr := again.Close(); err == nil {
		err = cerr
	}
	return err
}

func writeAll(file *sftp.File, data []byte) error {
	n, err := file.WriteAt(data, 0)
	if err == nil && n != len(data) {
		err = errors.New("short write")
	}
	return err
}
