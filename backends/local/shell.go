package local

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// maxArgument is the longest script that is passed as an argument; Linux takes
// at most 128 KiB in one.
const maxArgument = 120 << 10

// posixShell passes the script as the argument of -c. A longer one goes through
// a file that has no name, which the shell is told to source.
func (w *Workspace) posixShell(l *launch, cmd ops.Command) (err error) {
	if l.shell, err = w.findShell(cmd.Shell.Path, "bash", "sh"); err != nil {
		return err
	}
	script := cmd.Script
	if len(script) > maxArgument {
		file, source := w.sourced(l.shell, script)
		if l.script, err = w.scriptFile(file); err != nil {
			return plain{fmt.Errorf("pass the script to %s: %w", l.shell, bare(err))}
		}
		script = source
	} else if strings.HasPrefix(script, "-") || strings.HasPrefix(script, "+") {
		script = " " + script // else the shell takes it for options
	}
	l.args = []string{"-c", script}
	l.env = withoutStartupFiles(l.env, cmd.Env)
	return nil
}

// withoutStartupFiles makes bash read none, unless the caller asked for it for this
// very command. BASH_ENV names a file that it reads first. And it takes itself for a
// remote login if it is the first shell of a session of sshd, which a helper in the
// place of the login shell makes it, and reads .bashrc for each command.
func withoutStartupFiles(env []string, own map[string]string) []string {
	const file, depth = "BASH_ENV", "SHLVL"
	deep := false
	env = slices.DeleteFunc(env, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		_, wanted := own[name]
		if name == depth {
			n, _ := strconv.Atoi(value) // bash takes what is no number for nought
			deep = wanted || n > 0
			return !deep
		}
		return name == file && !wanted
	})
	if !deep {
		env = append(env, depth+"=1")
	}
	return env
}

// sourced returns what goes into the file and the command that runs it. Shells
// of the POSIX family close the descriptor first, so that it is not inherited by
// everything that the script starts.
func (w *Workspace) sourced(shell, script string) (file, source string) {
	path := "/dev/fd/3"
	if runtime.GOOS == "linux" {
		path = "/proc/self/fd/3"
	}
	switch strings.TrimSuffix(filepath.Base(shell), ".exe") {
	case "fish", "csh", "tcsh":
		return script, "source " + path
	}
	return "exec 3<&-; " + script, ". " + path
}

// tempScript writes a script to a private file, opens it and removes its name.
func (w *Workspace) tempScript(script string) (*os.File, error) {
	f, path, err := w.spills.create("script-" + rand.Text())
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(script)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	var opened *os.File
	if err == nil {
		opened, err = os.Open(path)
	}
	w.spills.remove(path)
	return opened, err
}
