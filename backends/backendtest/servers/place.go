//go:build unix

package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Login is an account that exists for one server alone: nothing on the machine
// changes. It needs root.
type Login struct {
	UID   int               // and gid; 0 is root, under its own name
	Shell string            // the login shell, such as fish; empty means bash
	Files map[string]string // what the home holds, such as start-up files
}

// name is the account's name.
func (l *Login) name() string {
	if l.UID == 0 {
		return "root"
	}
	return "piremote"
}

// mount puts the file or folder from over the path over.
type mount struct{ from, over string }

// place is what a server sees of the machine's files: its own namespace, in which
// some are replaced.
type place []mount

// command returns the command line that runs a program in the place.
func (p place) command(tb testing.TB, argv ...string) *exec.Cmd {
	tb.Helper()
	if len(p) == 0 {
		return exec.Command(argv[0], argv[1:]...)
	}
	if os.Getuid() != 0 {
		Missing(tb, "root", "a server with files of its own needs it")
	}
	// unshare and sh are replaced by the program, whose pid is the command's.
	args := []string{"--mount", "--propagation", "private", "sh", "-ec", `while [ "$1" != -- ]; do mount --rbind "$1" "$2"; shift 2; done; shift; exec "$@"`, "sh"}
	for _, m := range p {
		args = append(args, m.from, m.over)
	}
	return exec.Command("unshare", append(append(args, "--"), argv...)...)
}

// admit writes the list of accounts with one more in it, and the files of its home,
// and returns what puts the list in its place. inside is the home as the session
// sees it.
func (l *Login) admit(tb testing.TB, dir, home, inside string) place {
	tb.Helper()
	shell := "/bin/sh"
	if inside == home { // else the session has another root
		var err error
		if shell, err = exec.LookPath(or(l.Shell, "bash")); err != nil {
			Missing(tb, l.Shell, err.Error())
		}
	}
	before, err := os.ReadFile("/etc/passwd")
	check(tb, err)
	lines := []string{fmt.Sprintf("%s:*:%d:%d::%s:%s", l.name(), l.UID, l.UID, inside, shell)}
	for line := range strings.Lines(string(before)) {
		if !strings.HasPrefix(line, l.name()+":") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	accounts := filepath.Join(dir, "passwd")
	check(tb, os.WriteFile(accounts, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	check(tb, os.MkdirAll(home, 0o755))
	for name, text := range l.Files {
		check(tb, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755))
		check(tb, os.WriteFile(filepath.Join(home, name), []byte(text), 0o644))
	}
	l.own(tb, home)
	return place{{accounts, "/etc/passwd"}}
}

// own gives a tree to the account.
func (l *Login) own(tb testing.TB, root string) {
	tb.Helper()
	check(tb, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, l.UID, l.UID)
	}))
}

// hidden makes programs no program.
func hidden(programs ...string) place {
	var p place
	for _, name := range programs {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			p = append(p, mount{"/dev/null", real})
		}
	}
	return p
}

// openFolder returns a new folder that every account can enter.
func openFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	check(tb, err)
	check(tb, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
