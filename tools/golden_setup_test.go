package tools_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/tool"
)

// setup is what the "$" lines of a golden's comment ask for. Words may be Go
// strings in double quotes:
//
//	$ file NAME TEXT [COUNT]   a file of COUNT times TEXT
//	$ files NAME%d TEXT COUNT  COUNT files, numbered from 0
//	$ png NAME WIDTH HEIGHT    an image
//	$ link NAME TARGET
//	$ hardlink NAME FILE
//	$ fifo NAME
//	$ folder NAME
//	$ mode NAME OCTAL
//	$ fault OPERATION NAME ERROR [SKIP]  one operation fails, after SKIP went well
//	$ lost OPERATION NAME ERROR          it takes effect, and fails then
//	$ plain                    the workspace has none of the abilities
//	$ option NAME [VALUE]      an option of the shell tools
//	$ env NAME VALUE           a variable of the session
//	$ blind                    the model can't see images
//	$ dir FOLDER               the working folder of the call
//	$ exit FIELD VALUE         what a command's Exit says
//	$ abort                    the call is aborted at its first update
type setup struct {
	t       *testing.T
	memory  *opstest.Memory
	options tools.Options
	scope   tool.Scope
	faults  []opstest.Fault
	exit    []func(*ops.Exit)
	plain   bool
	inSteps bool // without the abilities that change a file
	abort   bool
}

func newSetup(t *testing.T, m *opstest.Memory, comment string) *setup {
	t.Helper()
	s := &setup{t: t, memory: m}
	for line := range strings.SplitSeq(comment, "\n") {
		if rest, ok := strings.CutPrefix(line, "$ "); ok {
			if err := s.line(words(t, rest)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	s.options.PowerShell = s.options.Bash
	return s
}

// words cuts a line at blanks outside Go strings.
func words(t *testing.T, line string) []string {
	t.Helper()
	var list []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			list, line = append(list, word), line[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		list, line = append(list, word), rest
	}
	return append(list, make([]string, 5)...)
}

func (s *setup) line(w []string) error {
	name := "/ws/" + w[1]
	switch w[0] {
	case "file":
		return s.memory.PutFile(name, []byte(strings.Repeat(w[2], max(1, number(w[3])))), 0o644)
	case "files":
		for i := range number(w[3]) {
			if err := s.memory.PutFile(fmt.Sprintf(name, i), []byte(w[2]), 0o644); err != nil {
				return err
			}
		}
		return nil
	case "png":
		return s.memory.PutFile(name, picture(s.t, number(w[2]), number(w[3])), 0o644)
	case "link":
		return s.memory.Symlink(w[2], name)
	case "hardlink":
		return s.memory.Link("/ws/"+w[2], name)
	case "fifo":
		return s.memory.Mkfifo(name)
	case "folder":
		return s.memory.Mkdir(name, 0o755)
	case "mode":
		mode, err := strconv.ParseUint(w[2], 8, 32)
		if err != nil {
			return err
		}
		return s.memory.Chmod(name, fs.FileMode(mode))
	case "fault", "lost":
		err, ok := faults("/ws/" + w[2])[w[3]]
		if !ok {
			return fmt.Errorf("there is no error %q", w[3])
		}
		if w[1] == string(opstest.OpExec) {
			name = ""
		} else {
			name = "/ws/" + w[2]
		}
		s.faults = append(s.faults, opstest.Fault{Op: opstest.Op(w[1]), Subject: name, Err: err, Skip: number(w[4]), After: w[0] == "lost"})
		return nil
	case "plain":
		s.plain = true
		return nil
	case "blind":
		s.scope.Vision = new(bool)
		return nil
	case "dir":
		s.scope.Dir = w[1]
		return nil
	case "env":
		if s.scope.SessionEnv == nil {
			s.scope.SessionEnv = map[string]string{}
		}
		s.scope.SessionEnv[w[1]] = w[2]
		return nil
	case "abort":
		s.abort = true
		return nil
	case "exit":
		return s.alterExit(w[1], w[2])
	case "option":
		return s.option(w[1], w[2])
	}
	return fmt.Errorf("unknown line")
}

func (s *setup) alterExit(field, value string) error {
	set, ok := map[string]func(*ops.Exit){
		"shell":      func(e *ops.Exit) { e.Shell = value },
		"signal":     func(e *ops.Exit) { e.Signal = value },
		"survivors":  func(e *ops.Exit) { e.Survivors = append(e.Survivors, value) },
		"unverified": func(e *ops.Exit) { e.Unverified = value },
	}[field]
	if !ok {
		return fmt.Errorf("there is no field %q", field)
	}
	s.exit = append(s.exit, set)
	return nil
}

func (s *setup) option(name, value string) error {
	o := &s.options.Bash
	switch name {
	case "no-spill":
		o.NoSpill = true
	case "spill-limit":
		o.SpillLimit = int64(number(value))
	case "background":
		o.Background = ops.Background(value)
	case "prefix":
		o.CommandPrefix = value
	case "hide-session":
		o.HideSessionEnvironment = true
	case "default-timeout":
		o.DefaultTimeout = time.Duration(number(value)) * time.Millisecond
	case "max-timeout":
		o.MaxTimeout = time.Duration(number(value)) * time.Millisecond
	case "hook-refuses":
		o.SpawnHook = func(s tools.Spawn) (tools.Spawn, error) { return s, fmt.Errorf("%s", value) }
	case "hook-command":
		o.SpawnHook = func(s tools.Spawn) (tools.Spawn, error) { s.Command = value; return s, nil }
	default:
		return fmt.Errorf("there is no option %q", name)
	}
	return nil
}

// faults are the errors by their names in a golden.
func faults(name string) map[string]error {
	file := func(err error) error { return &fs.PathError{Op: "test", Path: name, Err: err} }
	way := func(k ops.Kind, msg string) error {
		return &ops.TransportError{Kind: k, Target: "ssh://host", Msg: msg}
	}
	return map[string]error{
		"no-space": file(ops.ErrNoSpace), "no-space-below": &ops.TreeError{Err: file(ops.ErrNoSpace)}, "read-only": file(ops.ErrReadOnly), "changed": file(ops.ErrChanged),
		"too-large": file(ops.ErrTooLarge), "permission": file(fs.ErrPermission), "loop": file(ops.ErrLoop),
		"io":          file(fmt.Errorf("input/output error")),
		"unavailable": way(ops.KindUnavailable, "ssh://host can't be reached: connection refused."),
		"unknown":     way(ops.KindOutcomeUnknown, "the connection to ssh://host was lost while a command was under way; whether it took effect is not known"),
		"no-status":   way(ops.KindNoStatus, "no exit status received from ssh://host"),
		"no-shell":    way(ops.KindNoShell, "there is neither pwsh nor powershell on ssh://host"),
	}
}

// operations are those of the workspace, as the setup asks for them.
func (s *setup) operations() ops.Set {
	set := opstest.Inject(s.memory, s.faults...)
	set.Bash = exits{set.Bash, s.exit}
	set.PowerShell = asPOSIX{s.t, set.Bash}
	if s.plain {
		set.Read = struct{ ops.ReadOperations }{set.Read}
		set.Grep = struct{ ops.GrepOperations }{set.Grep}
		set.Find = struct{ ops.FindOperations }{set.Find}
	}
	if s.plain || s.inSteps {
		set.Edit = struct{ ops.EditOperations }{set.Edit}
		set.Write = struct{ ops.WriteOperations }{set.Write}
	}
	return set
}

// exits are commands of which something else is said in the end.
type exits struct {
	ops.BashOperations
	alter []func(*ops.Exit)
}

func (e exits) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	exit, err := e.BashOperations.Exec(ctx, cmd, output)
	for _, alter := range e.alter {
		alter(&exit)
	}
	return exit, err
}

// asPOSIX lets the shell in memory stand for PowerShell, of which only what the
// tool does with it is of interest.
type asPOSIX struct {
	t    *testing.T
	next ops.BashOperations
}

func (p asPOSIX) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	if cmd.Shell.Kind != ops.ShellPowerShell || cmd.Shell.Path != "" {
		p.t.Errorf("powershell asks for the shell %+v", cmd.Shell)
	}
	cmd.Shell.Kind = ops.ShellPOSIX
	exit, err := p.next.Exec(ctx, cmd, output)
	if exit.Shell != "" {
		exit.Shell = "/usr/bin/pwsh"
	}
	return exit, err
}

// picture is a PNG with some colors.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetGray(x, y, color.Gray{Y: uint8(x ^ y)})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		return 0
	}
	return n
}
