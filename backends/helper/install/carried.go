package install

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/piremote/piremote/backends/helper"
)

// carriedDir is the folder of helpers on targets without a shell.
const carriedDir = "/.piremote"

// startCarried puts the program on a target that may have no shell and starts it
// directly. It is read back and hashed here before each start, and run once for
// its version, since what the target says of a program that it can't start would
// be taken for the helper's own words.
func startCarried(ctx context.Context, c Carrier, b Bundle, o Options, report *Report) (*Stream, error) {
	goos, arch, err := c.Machine(ctx)
	if err != nil {
		return nil, err
	}
	p, err := b.Find(goos, arch)
	if err != nil {
		return nil, &CannotRunError{Reason: err.Error(), Err: err}
	}
	// Another client may replace the file at the same moment. Then the second
	// attempt has one of its own.
	own := p.Name() + "-" + newMarker().String()
	for _, name := range []string{p.Name(), own} {
		var file string
		if file, err = carry(ctx, c, p, name, report); err == nil {
			report.Execs++
			err = version(ctx, c, file, p)
		}
		if err == nil {
			report.OS, report.Arch, report.Hash, report.Path = goos, arch, p.Hash, file
			report.Execs++
			process, err := c.Exec(ctx, []string{file, o.Word, newMarker().String()})
			if err != nil {
				return nil, noShell(err)
			}
			return &Stream{Process: process, reader: bufio.NewReader(process)}, nil
		}
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		if !errors.As(err, new(*CannotRunError)) {
			break
		}
	}
	return nil, err
}

// carry makes sure that a file on the target is the program.
func carry(ctx context.Context, c Carrier, p Program, name string, report *Report) (string, error) {
	file := path.Join(carriedDir, name)
	same, err := is(ctx, c, file, p)
	if same || err != nil {
		return file, err
	}
	data, err := p.Bytes()
	if err != nil {
		return "", err
	}
	report.Uploaded = true
	report.Sent += p.Size
	if err := c.Put(ctx, carriedDir, name, data); err != nil {
		return "", err
	}
	same, err = is(ctx, c, file, p)
	if err == nil && !same {
		err = &CannotRunError{Reason: fmt.Sprintf("what was copied to %s reads differently", file)}
	}
	return file, err
}

// is says whether a file is the program.
func is(ctx context.Context, c Carrier, file string, p Program) (bool, error) {
	data, err := c.Get(ctx, file, p.Size)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && hash(data) == p.Hash, err
}

// version runs the program once.
func version(ctx context.Context, c Exec, file string, p Program) error {
	process, err := c.Exec(ctx, []string{file, helper.Version})
	if err != nil {
		return noShell(err)
	}
	defer func() { _ = process.Close() }() // what it said is known
	stop := context.AfterFunc(ctx, func() { _ = process.Close() })
	defer stop()
	said, err := io.ReadAll(io.LimitReader(process, maxLine))
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if err == nil && strings.TrimSpace(string(said)) == helper.VersionLine(p.OS, p.Arch) {
		return nil
	}
	exit, werr := process.Wait(ctx)
	if werr != nil {
		return noShell(werr)
	}
	return &CannotRunError{Reason: fmt.Sprintf("%s does not run there: it said %q (exit status %d)", file, plain(string(said)+" "+exit.Stderr), exit.Code)}
}
