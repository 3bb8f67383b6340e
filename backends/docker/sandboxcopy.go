package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// manifest is what a copy of a folder holds, by path.
type manifest map[string]FileState

// copyFolder puts the folder, or an empty one, into the volume of the sandbox, by a
// container that has the same volumes: the daemon lets nobody but that change whose the
// root of a volume is, and nothing below a root that can't be written.
func (s *Sandbox) copyFolder(ctx context.Context, o SandboxOptions, c spec) error {
	c.Name += "-copy"
	by, err := s.runner.daemon.Lend(ctx, c, s.runner.target.id)
	if err != nil {
		return s.cannot(ctx, err, "fill")
	}
	defer func() { _ = s.remove(by) }() //nolint:contextcheck // also when ctx has ended; it is found by its label
	uid, gid := ids(s.runner.user)
	reader, writer := io.Pipe()
	packed := make(chan error, 1)
	var base manifest
	go func() {
		w := tar.NewWriter(writer)
		m, err := packFolder(ctx, w, o.Folder, strings.TrimPrefix(o.Dir, "/"), uid, gid)
		base = m
		if err == nil {
			err = w.Close()
		}
		_ = writer.CloseWithError(err) // never fails
		packed <- err
	}()
	err = s.runner.daemon.CopyIn(ctx, by, "/", reader)
	_ = reader.CloseWithError(errGivenUp) // what is not read is of no use
	if perr := <-packed; perr != nil && !errors.Is(perr, errGivenUp) {
		return fmt.Errorf("the folder %s can't be copied into the sandbox: %w", o.Folder, perr)
	}
	if err != nil {
		return s.runner.explain(ctx, err, "copy the folder into the sandbox")
	}
	if o.Folder == "" || o.ChangesDir == "" {
		return nil
	}
	s.copy, s.dir = &copyRecord{Host: s.runner.target.endpoint.Host, Folder: o.Folder, Dir: o.Dir, Image: o.Image, Base: base}, filepath.Join(o.ChangesDir, s.runner.target.name)
	if err := s.copy.write(s.dir); err != nil {
		return fmt.Errorf("it can't be noted in %s what was copied: %w", s.dir, err)
	}
	return nil
}

// ids are the numbers of a user that were checked before.
func ids(user string) (uid, gid int) {
	u, g, _ := strings.Cut(user, ":")
	uid, _ = strconv.Atoi(u)
	gid, _ = strconv.Atoi(g)
	return uid, gid
}

// packFolder writes a folder to an archive under another name, with all in it that is a
// file, a folder or a link; it belongs to uid and gid there. Links are not followed.
func packFolder(ctx context.Context, w *tar.Writer, dir, as string, uid, gid int) (manifest, error) {
	m := manifest{}
	header := func(name string, info fs.FileInfo, link string) *tar.Header {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(as, name), Mode: 0o755, Uid: uid, Gid: gid}
		if info != nil {
			h.Mode, h.ModTime = int64(info.Mode().Perm()), info.ModTime()
		}
		if link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, link
		}
		return h
	}
	if dir == "" {
		h := header(".", nil, "")
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		return m, w.WriteHeader(h)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, err
	}
	defer func() { _ = root.Close() }() // it was only read
	return m, fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			h := header(name, info, "")
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
			m[name] = FileState{Mode: fs.ModeDir | info.Mode().Perm()}
			return w.WriteHeader(h)
		case d.Type()&fs.ModeSymlink != 0:
			to, err := root.Readlink(name)
			if err != nil {
				return err
			}
			m[name] = FileState{Mode: fs.ModeSymlink, Link: to}
			return w.WriteHeader(header(name, info, to))
		case d.Type().IsRegular():
			state, err := packFile(w, root, name, header(name, info, ""), info.Size())
			m[name] = state
			return err
		}
		return nil // sockets and the like mean nothing elsewhere
	})
}

// packFile writes a file of so many bytes. One that changes meanwhile is as long as
// it was: what is missing is zeros, which the next look finds.
func packFile(w *tar.Writer, root *os.Root, name string, h *tar.Header, size int64) (FileState, error) {
	f, err := root.Open(name)
	if err != nil {
		return FileState{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	h.Size = size
	if err := w.WriteHeader(h); err != nil {
		return FileState{}, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(f, size))
	if err == nil && n < size {
		_, err = io.Copy(io.MultiWriter(w, sum), bytes.NewReader(make([]byte, size-n)))
	}
	return FileState{Mode: fs.FileMode(h.Mode).Perm(), Size: size, Hash: hex.EncodeToString(sum.Sum(nil))}, err //nolint:gosec // permissions
}
