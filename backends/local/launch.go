package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// launch is everything that starting a command needs.
type launch struct {
	id         string   // random; the marker's value
	shell      string   // the interpreter
	args       []string // after the interpreter's name
	env        []string
	dir        *os.File // the opened folder to run in
	dirPath    string   // its canonical path
	script     *os.File // descriptor 3 of the command; nil if the script is an argument
	temp       func()   // removes a file when the command has ended; nil if there is none
	background ops.Background
	output     *os.File // stdout and stderr
}

func (l *launch) marker() string { return markerName + "=" + l.id }

// size is what the arguments and the environment take in bytes.
func (l *launch) size() int {
	n := len(l.shell) + 1
	for _, text := range slices.Concat(l.args, l.env) {
		n += len(text) + 1
	}
	return n
}

func (l *launch) close() {
	if l.dir != nil {
		_ = l.dir.Close()
	}
	if l.script != nil {
		_ = l.script.Close()
	}
	if l.temp != nil {
		l.temp()
	}
}

// prepare checks everything that can be checked before anything runs.
func (v *view) prepare(ctx context.Context, cmd ops.Command) (*launch, error) {
	if strings.ContainsRune(cmd.Script, 0) {
		return nil, plain{errors.New("the script contains a NUL byte, which no interpreter accepts")}
	}
	l := &launch{id: rand.Text(), background: cmd.Background}
	dir := cmd.Dir
	if dir == "" {
		dir = v.dir
	}
	var err error
	if l.env, err = environment(v.ws.options.Env, cmd.Env, "PWD="+dir, l.marker()); err != nil {
		return nil, plain{err}
	}
	err = v.reach(ctx, dir, func(at place) (err error) {
		l.dir, err = at.root.openFile(at.name, readFlags, 0)
		l.dirPath = at.abs()
		return err
	})
	if err == nil {
		if info, serr := l.dir.Stat(); serr != nil || !info.IsDir() {
			err = errors.Join(serr, ops.ErrNotDir)
		}
	}
	if err == nil {
		err = v.ws.interpret(l, cmd)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// plain is an error that is not about the folder.
type plain struct{ error }

func (p plain) Unwrap() error { return p.error }

// interpret chooses the interpreter and how the script gets to it.
func (w *Workspace) interpret(l *launch, cmd ops.Command) error {
	switch cmd.Shell.Kind {
	case "", ops.ShellPOSIX:
		return w.posixShell(l, cmd)
	case ops.ShellPowerShell:
		return w.powerShell(l, cmd)
	}
	return plain{fmt.Errorf("unknown kind of shell %q", cmd.Shell.Kind)}
}

func noShell(name string, err error) error {
	msg := fmt.Sprintf("There is no %s on this machine: install it, or configure the path of a shell", name)
	if strings.ContainsAny(name, `/\`) {
		msg = fmt.Sprintf("The shell %s can't be run: %v; configure the path of one that exists", name, bare(err))
	}
	return &ops.TransportError{Kind: ops.KindNoShell, Target: "local", Msg: msg, Err: err}
}

// anyShell says whether any kind of shell is there.
func (w *Workspace) anyShell() bool {
	_, err := w.findShell("", "bash", "sh", "pwsh", "powershell")
	return err == nil || executable("/bin/sh") == nil
}

// findShell returns the given path, or the first of names on PATH.
func (w *Workspace) findShell(path string, names ...string) (string, error) {
	if path != "" {
		if err := executable(path); err != nil {
			return "", noShell(path, err)
		}
		return path, nil
	}
	search := defaultPath
	if w.options.Env != nil {
		search = lookup(w.options.Env, "PATH")
	}
	for _, name := range names {
		if found := findProgram(search, name); found != "" {
			return found, nil
		}
	}
	return "", noShell(strings.Join(names, " or "), os.ErrNotExist)
}
