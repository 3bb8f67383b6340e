package opstest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/interp"
)

// program runs the programs that the in-memory shell knows.
func (v view) program(j *job) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		j.mu.Lock()
		id := j.next
		j.next++
		j.running[id] = strings.Join(args, " ")
		j.mu.Unlock()
		defer func() {
			j.mu.Lock()
			delete(j.running, id)
			j.mu.Unlock()
		}()
		return v.run(ctx, j, args)
	}
}

func (v view) run(ctx context.Context, j *job, args []string) error {
	hc := interp.HandlerCtx(ctx)
	var err error
	switch name, args := path.Base(args[0]), args[1:]; name {
	case "sh", "bash":
		return v.shell(ctx, j, args)
	case "setsid", "nohup":
		return v.run(ctx, j, args)
	case "sleep":
		err = pause(ctx, args)
	case "cat":
		err = v.cat(ctx, args)
	case "seq":
		err = seq(ctx, hc.Stdout, args)
	case "yes":
		err = yes(ctx, hc.Stdout, args)
	case "head":
		err = head(hc.Stdin, hc.Stdout, args)
	case "env":
		for name, value := range hc.Env.Each {
			if value.Exported {
				_, err = fmt.Fprintf(hc.Stdout, "%s=%s\n", name, value.Str)
			}
		}
	case "mkdir":
		for _, a := range operands(args) {
			if err = v.Mkdir(absolute(ctx, a), 0o755); err != nil {
				break
			}
		}
	case "touch":
		for _, a := range operands(args) {
			if _, err = v.openFile(ctx, a, os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
				break
			}
		}
	case "ln": // ln -s target name
		if names := operands(args); len(names) == 2 {
			err = v.Symlink(names[0], absolute(ctx, names[1]))
		}
	case "rm":
		for _, a := range operands(args) {
			if err = v.Remove(absolute(ctx, a)); err != nil {
				break
			}
		}
	default:
		_, _ = fmt.Fprintf(hc.Stderr, "bash: %s: command not found\n", args)
		return interp.ExitStatus(127)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			return interp.ExitStatus(141) // a program dies silently of SIGPIPE
		}
		_, _ = fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
		return interp.ExitStatus(1)
	}
	return nil
}

// shell is sh -c SCRIPT.
func (v view) shell(ctx context.Context, j *job, args []string) error {
	hc := interp.HandlerCtx(ctx)
	if len(args) < 2 || args[0] != "-c" {
		_, _ = fmt.Fprintln(hc.Stderr, "sh: only sh -c SCRIPT is known here")
		return interp.ExitStatus(2)
	}
	file, err := parse(args[1])
	if err != nil {
		_, _ = fmt.Fprintf(hc.Stderr, "sh: %v\n", err)
		return interp.ExitStatus(2)
	}
	env := map[string]string{}
	for name, value := range hc.Env.Each {
		if value.Exported {
			env[name] = value.Str
		}
	}
	r, err := v.runner(j, hc.Dir, env, hc.Stdout)
	if err != nil {
		return err
	}
	return r.Run(ctx, file)
}

func operands(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	return args
}

func pause(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give one number of seconds")
	}
	seconds, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return fmt.Errorf("invalid time interval %q", args[0])
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v view) cat(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	if len(args) == 0 {
		if hc.Stdin == nil {
			return nil
		}
		_, err := io.Copy(hc.Stdout, hc.Stdin)
		return err
	}
	for _, a := range args {
		data, err := v.GetFile(absolute(ctx, a))
		if err != nil {
			return err
		}
		if _, err := hc.Stdout.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func seq(ctx context.Context, w io.Writer, args []string) error {
	first, last := 1, 0
	var err error
	switch len(args) {
	case 1:
		last, err = strconv.Atoi(args[0])
	case 2:
		if first, err = strconv.Atoi(args[0]); err == nil {
			last, err = strconv.Atoi(args[1])
		}
	default:
		err = fmt.Errorf("give one or two numbers")
	}
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	for i := first; i <= last && ctx.Err() == nil; i++ {
		if _, err := fmt.Fprintln(b, i); err != nil {
			return err
		}
	}
	return b.Flush()
}

func yes(ctx context.Context, w io.Writer, args []string) error {
	line := "y\n"
	if len(args) > 0 {
		line = strings.Join(args, " ") + "\n"
	}
	block := bytes.Repeat([]byte(line), 8192)
	for ctx.Err() == nil {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func head(r io.Reader, w io.Writer, args []string) error {
	if len(args) != 2 || args[0] != "-c" || r == nil {
		return fmt.Errorf("only head -c N of the input is known here")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, r, n)
	if err == io.EOF { //nolint:errorlint // io.CopyN returns it bare
		err = nil
	}
	return err
}

// openFile opens a file of the tree for the shell.
func (v view) openFile(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	if name == "/dev/null" {
		return &openFile{}, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.walk(absolute(ctx, name), true)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	switch {
	case at.node == nil && flag&os.O_CREATE != 0 && at.missing == 1 && !at.notDir:
		at.node = v.newNode(perm.Perm() &^ 0o022)
		at.parent.children[at.name] = at.node
	case at.err() != nil:
		return nil, pathError("open", name, at.err())
	case flag&os.O_TRUNC != 0:
		if err := v.store(at.node, nil); err != nil {
			return nil, pathError("open", name, err)
		}
	}
	return &openFile{memory: v.Memory, node: at.node}, nil
}

// openFile is an open file: writes are appended, reads start at the front.
// Without a node it is the null device.
type openFile struct {
	memory *Memory
	node   *node
	offset int
}

func (f *openFile) Read(p []byte) (int, error) {
	if f.node == nil {
		return 0, io.EOF
	}
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	if f.offset >= len(f.node.data) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[f.offset:])
	f.offset += n
	return n, nil
}

func (f *openFile) Write(p []byte) (int, error) {
	if f.node == nil {
		return len(p), nil
	}
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	if err := f.memory.store(f.node, append(f.node.data[:len(f.node.data):len(f.node.data)], p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *openFile) Close() error { return nil }
