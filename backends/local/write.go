package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piremote/piremote/tools/ops"
)

const (
	writeBlock  = 1 << 20
	writeTries  = 8 // against something that keeps swapping the name
	defaultPerm = 0o666
)

// Faults of one attempt to write.
var (
	errMoved  = errors.New("the name means another file now")
	errNoLink = errors.New("an unnamed file can't be given a name here")
)

// MkdirAll creates dir and its parents.
func (e engine) MkdirAll(ctx context.Context, dir string) error {
	at, err := e.follow(ctx, dir)
	if err == nil && at.root.readOnly {
		err = ops.ErrReadOnly
		if info, serr := at.root.stat(at.name); serr == nil && info.IsDir() {
			err = nil
		}
		return e.fail("mkdir", dir, err)
	}
	if err == nil {
		err = at.root.mkdirAll(at.name, 0o777)
	}
	return e.fail("mkdir", dir, err)
}

// WriteFile replaces the content of a file; see ops.WriteOperations (hazards
// WRIT-01 to WRIT-04).
func (e engine) WriteFile(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	report, err := e.write(ctx, path, data)
	if err != nil {
		return ops.WriteReport{}, e.fail("write", path, err)
	}
	return report, nil
}

func (v *view) write(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	j := job{data: data, umask: v.ws.facts.umask, named: !v.ws.facts.proc}
	for range writeTries {
		at, err := v.follow(ctx, path)
		if err != nil {
			return ops.WriteReport{}, err
		}
		switch {
		case at.name == ".":
			return ops.WriteReport{}, ops.ErrIsDir
		case at.root.readOnly:
			return ops.WriteReport{}, ops.ErrReadOnly
		}
		dir, err := openFolder(at.root, filepath.Dir(at.name))
		if err != nil {
			return ops.WriteReport{}, err
		}
		dir.names = &v.ws.names
		v.sweepFor(at, dir)
		report, err := j.run(ctx, dir, filepath.Base(at.name))
		dir.close()
		switch {
		case errors.Is(err, errNoLink):
			j.named = true
		case errors.Is(err, errMoved):
		default:
			report.Path = at.abs()
			return report, err
		}
	}
	return ops.WriteReport{}, ops.ErrChanged
}

// job is one write.
type job struct {
	data  []byte
	umask fs.FileMode
	named bool // temporary files need a name from the start
}

// run writes the file base of a folder. Everything goes through the opened
// folder, so that the name can't lead elsewhere meanwhile.
func (j job) run(ctx context.Context, dir *folder, base string) (ops.WriteReport, error) {
	old, err := dir.lstat(base)
	created := errors.Is(err, fs.ErrNotExist)
	if err != nil && !created {
		return ops.WriteReport{}, err
	}
	if !created {
		if err := old.writable(dir, base); err != nil {
			return ops.WriteReport{}, err
		}
		if old.links > 1 {
			return j.overwrite(ctx, dir, base, old, fmt.Sprintf("the file has %d names", old.links))
		}
	}
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	temp, err := dir.temp(j.named)
	if err != nil {
		if !created && (errors.Is(err, fs.ErrPermission) || errors.Is(sentinel(bare(err)), ops.ErrReadOnly)) {
			return j.overwrite(ctx, dir, base, old, "its folder can't take a new file")
		}
		return ops.WriteReport{}, err
	}
	defer temp.discard()
	if err := fill(ctx, temp.file, j.data); err != nil {
		return ops.WriteReport{}, err
	}
	if created {
		err = temp.file.Chmod(defaultPerm &^ j.umask)
	} else {
		var reason string
		if reason, err = keepAttributes(temp.file, dir, base, old); err == nil && reason != "" {
			temp.discard()
			return j.overwrite(ctx, dir, base, old, reason)
		}
	}
	if err == nil {
		err = temp.file.Sync()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = temp.publish(base, created)
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	if err := dir.sync(); err != nil {
		return ops.WriteReport{}, unknown("The file was replaced, but its folder could not be synced", err)
	}
	return ops.WriteReport{Created: created}, nil
}

// writable checks that the file may be written, as opening it for that would: a
// rename over it needs no such right (hazard WRIT-04).
func (old entry) writable(dir *folder, base string) error {
	switch {
	case old.mode&fs.ModeSymlink != 0:
		return errMoved // it was none a moment ago
	case old.mode.IsDir():
		return ops.ErrIsDir
	case !old.mode.IsRegular():
		return ops.ErrNotRegular
	case old.mode.Perm()&0o222 == 0:
		return fs.ErrPermission // for root too: whoever took the bits away meant it
	}
	return dir.mayWrite(base)
}

// fill writes data to a new file.
func fill(ctx context.Context, f *os.File, data []byte) error {
	for done := 0; done < len(data); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Write(data[done:min(len(data), done+writeBlock)])
		done += n
		if err != nil {
			return noSpace(f, err, done, len(data))
		}
	}
	return nil
}

// noSpace says how far a write came and how much is free (hazard WRIT-01).
func noSpace(f *os.File, err error, done, size int) error {
	err = sentinel(bare(err))
	if !errors.Is(err, ops.ErrNoSpace) {
		return err
	}
	free := ""
	if n, ok := freeBytes(f); ok {
		free = fmt.Sprintf(", %d bytes are free", n)
	}
	return fmt.Errorf("%w: it took %d of %d bytes%s", ops.ErrNoSpace, done, size, free)
}

func unknown(sentence string, err error) error {
	return &ops.TransportError{
		Kind: ops.KindOutcomeUnknown, Target: "local", Msg: fmt.Sprintf("%s: %v", sentence, bare(err)), Err: err,
	}
}
