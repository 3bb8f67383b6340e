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
type mount struct {
	from, over string
	// among leaves the folder over as it is but for the files that from holds. A
	// file that is mounted over another goes when a program on the machine replaces
	// that one by renaming, as installing a package does with /etc/passwd; one in a
	// layer stays.
	among bool
}

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
	const script = `while [ "$1" != -- ]; do
	case $1 in
	among)
		mount -t overlay overlay -o "lowerdir=$2:$3" "$3" 2>/dev/null ||
		for file in "$2"/*; do mount --bind "$file" "$3/${file##*/}"; done # a kernel without it
		;;
	*) mount --rbind "$2" "$3" ;;
	esac
	shift 3
done
shift
exec "$@"`
	args := []string{"--mount", "--propagation", "private", "sh", "-ec", script, "sh"}
	for _, m := range p {
		how := "over"
		if m.among {
			how = "among"
		}
		args = append(args, how, m.from, m.over)
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
	etc := filepath.Join(dir, "etc")
	check(tb, os.MkdirAll(etc, 0o755))
	check(tb, os.WriteFile(filepath.Join(etc, "passwd"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	check(tb, os.MkdirAll(home, 0o755))
	for name, text := range l.Files {
		check(tb, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755))
		check(tb, os.WriteFile(filepath.Join(home, name), []byte(text), 0o644))
	}
	l.own(tb, home)
	return place{{from: etc, over: "/etc", among: true}}
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
			p = append(p, mount{from: "/dev/null", over: real})
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
