package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/piremote/piremote/backends/helper/install"
)

// Machine implements install.Carrier. What runs in a container runs on the
// daemon's machine, whatever its image was made for.
func (s starter) Machine(ctx context.Context) (goos, goarch string, err error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	m, err := s.daemon.Machine(bounded)
	if err != nil {
		return "", "", s.explain(ctx, err, "describe its machine")
	}
	return m.OS, m.Arch, nil
}

// Modes of what is put into a container: everyone may use it, root alone change it.
const (
	carriedFolder = 0o755
	carriedFile   = 0o555
)

// Put implements install.Carrier.
func (s starter) Put(ctx context.Context, dir, name string, program []byte) error {
	archive, err := pack(dir, name, program)
	if err != nil {
		return err
	}
	err = s.daemon.CopyIn(ctx, s.target.id, "/", archive)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || unreachable(err) || notFound(err):
		return s.explain(ctx, err, "copy the helper into the container")
	}
	reason := fmt.Sprintf("the helper can't be copied into container %s: %s", s.target.name, strings.TrimSpace(err.Error()))
	return &install.CannotRunError{Reason: reason, Err: err}
}

// pack makes an archive, to be unpacked in "/", of a folder with one file; of the
// file alone, to be unpacked in its folder, where none is named.
func pack(dir, name string, program []byte) (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if dir = strings.Trim(dir, "/"); dir != "" {
		dir += "/"
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: carriedFolder}); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: dir + name, Mode: carriedFile, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	return &b, w.Close()
}

// Get implements install.Carrier. Nothing of the archive is unpacked.
func (s starter) Get(ctx context.Context, file string, limit int64) ([]byte, error) {
	archive, err := s.daemon.CopyOut(ctx, s.target.id, file)
	missing := &fs.PathError{Op: "get", Path: file, Err: fs.ErrNotExist}
	if notFound(err) && s.look(ctx, "") == nil {
		return nil, missing
	}
	if err != nil {
		return nil, s.explain(ctx, err, "read the helper in the container")
	}
	defer func() { _ = archive.Close() }() // it was only read
	r := tar.NewReader(archive)
	h, err := r.Next()
	if err == nil && (h.Typeflag != tar.TypeReg || h.Size > limit || path.Base(h.Name) != path.Base(file)) || errors.Is(err, io.EOF) {
		return nil, missing
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, limit))
	}
	if err != nil {
		return nil, s.explain(ctx, err, "read the helper in the container")
	}
	return data, nil
}
