package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
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
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return ops.WriteReport{}, e.fail("write", path, err)
	}
	defer leave()
	report, err := e.change(ctx, path, func(j job) (ops.WriteReport, error) {
		j.data = data
		return j.run(ctx)
	})
	if err != nil {
		return ops.WriteReport{}, e.fail("write", path, err)
	}
	return report, nil
}

// WriteTree is WriteFile that makes missing folders; see ops.TreeWriter.
func (e engine) WriteTree(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	return steps.WriteTree(ctx, e, path, data)
}

// change lets fn change a file under its lock, again if the name means another
// file meanwhile.
func (v *view) change(ctx context.Context, path string, fn func(job) (ops.WriteReport, error)) (ops.WriteReport, error) {
	named := !v.ws.facts.proc
	for range writeTries {
		at, err := v.follow(ctx, path)
		if err == nil && at.name == "." {
			err = ops.ErrIsDir
		}
		if err != nil {
			return ops.WriteReport{}, err
		}
		report, err := v.changeAt(ctx, path, at, named, fn)
		switch {
		case errors.Is(err, errNoLink):
			named = true
		case errors.Is(err, errMoved):
		default:
			report.Path = at.abs()
			return report, err
		}
	}
	return ops.WriteReport{}, ops.ErrChanged
}

// changeAt is one attempt of change, at the place where path leads.
func (v *view) changeAt(ctx context.Context, path string, at place, named bool, fn func(job) (ops.WriteReport, error)) (ops.WriteReport, error) {
	release, err := v.ws.locks.take(ctx, at.abs())
	if err != nil {
		return ops.WriteReport{}, err
	}
	defer release()
	// The wait may have been long.
	if now, err := v.follow(ctx, path); err != nil {
		return ops.WriteReport{}, err
	} else if now.abs() != at.abs() {
		return ops.WriteReport{}, errMoved
	}
	dir, err := openFolder(at.root, filepath.Dir(at.name))
	if err != nil {
		return ops.WriteReport{}, err
	}
	defer dir.close()
	dir.names = &v.ws.names
	if !at.root.readOnly {
		v.sweepFor(at, dir)
	}
	return fn(job{dir: dir, base: filepath.Base(at.name), readOnly: at.root.readOnly, umask: v.ws.facts.umask, named: named})
}

// job is one write.
type job struct {
	dir      *folder
	base     string // the file's name there
	readOnly bool   // the folder lies in a root that takes no changes
	umask    fs.FileMode
	named    bool // temporary files need a name from the start

	data []byte
	// seen is the file that data takes the place of; nil if any will do.
	seen *seen
	// fresh demands that there is no file yet.
	fresh bool
}

// run writes the file. Everything goes through the opened folder, so that the
// name can't lead elsewhere meanwhile.
func (j job) run(ctx context.Context) (ops.WriteReport, error) {
	if j.readOnly {
		return ops.WriteReport{}, ops.ErrReadOnly
	}
	old, err := j.dir.lstat(j.base)
	created := errors.Is(err, fs.ErrNotExist)
	if err != nil && !created {
		return ops.WriteReport{}, err
	}
	if !created {
		if err := old.writable(j.dir, j.base); err != nil {
			return ops.WriteReport{}, err
		}
	}
	if err := j.expected(old, created); err != nil {
		return ops.WriteReport{}, err
	}
	if !created && old.links > 1 {
		return j.overwrite(ctx, old, fmt.Sprintf("the file has %d names", old.links))
	}
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	temp, err := j.dir.temp(j.named)
	if err != nil {
		if !created && (errors.Is(err, fs.ErrPermission) || errors.Is(sentinel(bare(err)), ops.ErrReadOnly)) {
			return j.overwrite(ctx, old, "its folder can't take a new file")
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
		if reason, err = keepAttributes(temp.file, j.dir, j.base, old); err == nil && reason != "" {
			temp.discard()
			return j.overwrite(ctx, old, reason)
		}
	}
	if err == nil {
		err = temp.file.Sync()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = j.unchanged()
	}
	traded := false
	if err == nil {
		if j.seen != nil && !created {
			traded, err = j.trade(temp)
		} else {
			err = temp.publish(j.base, created)
		}
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	err = j.dir.sync()
	kept := ""
	if traded {
		kept = j.displaced(temp)
	}
	if err != nil {
		return ops.WriteReport{}, unknown("The file was replaced, but its folder could not be synced", err)
	}
	return ops.WriteReport{Created: created, Kept: kept}, nil
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
