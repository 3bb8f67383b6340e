package posix

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/piremote/piremote/tools/ops"
)

// argCommand is the length up to which a command travels among the script's
// arguments, which a shell reads byte by byte; longer ones follow in bulk.
const argCommand = 4 << 10

// argPowerShell bounds a PowerShell command in UTF-16 units: encoded it is one
// argument of at most 128 KiB.
const argPowerShell = 48 << 10

// Waits of Exec. Timeouts of commands count from the moment the command runs.
const (
	startWait  = 30 * time.Second       // for a command with a timeout to start
	beginWait  = 3 * time.Second        // for a command that is to be ended to start
	statusWait = 5 * time.Second        // for the second stream after the first has ended
	holdWait   = 150 * time.Millisecond // for the pipe to close, if something is known to hold it
	closeWait  = 2 * time.Second        // the same, if nothing is known
	killWait   = 20 * time.Second       // for the kill script, beside the grace
)

// Exec implements ops.BashOperations.
//
// The command runs under a shell of ours that reports its status on the output
// stream, behind the command's last byte, so that a background process that
// holds the pipe hides neither (hazards BASH-01, SSHX-03). Timeout and abort
// run a second script that finds the tree by the marker in its environment, by
// session and by parent, ends it and looks again (SSHX-01, DKX-01, PROC-04).
func (e *Engine) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	if err := ctx.Err(); err != nil {
		return ops.Exit{}, ended(ctx)
	}
	req, shell, err := e.prepare(cmd)
	if err != nil {
		return ops.Exit{}, err
	}
	r := newRunning(e, cmd)
	r.exit.Shell = shell
	r.start(ctx, req, output)
	err = r.wait(ctx)
	r.spill.finish(ctx, &r.exit)
	return r.exit, err
}

// execRequest is what exec.sh is given.
type execRequest struct {
	args []string
	env  string
	bulk []byte
}

// prepare checks a command and chooses how it travels.
func (e *Engine) prepare(cmd ops.Command) (req execRequest, shell string, err error) {
	if strings.ContainsRune(cmd.Script, 0) {
		return req, "", errors.New("a command can't hold a NUL byte")
	}
	dir := cmd.Dir
	if dir == "" {
		dir = e.dir
	}
	if !path.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return req, "", pathError("chdir", dir, fs.ErrInvalid)
	}
	if req.env, err = exports(cmd.Env); err != nil {
		return req, "", err
	}
	p := e.core.probe
	kind, text := "arg", cmd.Script
	shell = cmd.Shell.Path
	switch {
	case cmd.Shell.Kind == ops.ShellPowerShell:
		if shell == "" {
			shell = p.PowerShell
		}
		if shell == "" {
			return req, "", e.transport(ops.KindNoShell, e.label+": there is no pwsh or powershell on the target", nil)
		}
		units := utf16.Encode([]rune(cmd.Script))
		if len(units) > argPowerShell {
			return req, "", errors.New("a PowerShell command can have at most " + strconv.Itoa(argPowerShell) + " characters here; put it in a file and run that")
		}
		raw := make([]byte, 0, 2*len(units))
		for _, u := range units {
			raw = append(raw, byte(u&0xff), byte(u>>8))
		}
		kind, text = "pwsh", base64.StdEncoding.EncodeToString(raw)
	case shell == "" && p.Bash != "":
		shell = p.Bash
	case shell == "":
		shell = p.Sh
	}
	if kind == "arg" && len(text) > argCommand {
		kind, req.bulk = "bulk", []byte(text)
		text = strconv.Itoa(len(req.bulk))
	}
	session := e.core.session
	if cmd.Background == ops.BackgroundKeep {
		session = ""
	}
	req.args = []string{path.Clean(dir), shell, kind, text, "", session, p.Setsid}
	return req, shell, nil
}

// exports returns the script that sets the environment. Values travel on stdin
// and never reach an argument vector (hazards SSHX-08, SSHX-14).
func exports(env map[string]string) (string, error) {
	var b strings.Builder
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !envName(name) {
			return "", errors.New("bad name of an environment variable: " + strconv.Quote(name))
		}
		if strings.ContainsRune(env[name], 0) {
			return "", errors.New("the value of the environment variable " + name + " holds a NUL byte")
		}
		b.WriteString("export " + name + "=" + Quote(env[name]) + "\n")
	}
	return b.String(), nil
}

func envName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// startFailure maps what exec.sh said instead of starting the command.
func (e *Engine) startFailure(req execRequest, words []string) error {
	code := "EIO"
	if len(words) > 1 {
		code = words[1]
	}
	dir, shell := req.args[0], req.args[1]
	if code == "ENOSHELL" {
		return e.transport(ops.KindNoShell, e.label+": there is no shell "+shell+" on the target", nil)
	}
	err := sentinel(code)
	if err == nil {
		err = errInput
	}
	return pathError("chdir", dir, err)
}
