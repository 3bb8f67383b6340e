package posix

import (
	"embed"
	"strings"

	"github.com/piremote/piremote/backends/internal/oneline"
)

// scripts holds the constant scripts, one a file. They are written so that
// their lines can be joined to one and put in single quotes: see package oneline.
//
//go:embed sh/*.sh
var scripts embed.FS

// boot reads a nonce, then lines up to one that is the nonce again, and runs
// them; they set the script's arguments. What follows on stdin is the script's:
// a shell reads lines byte by byte from a pipe, so nothing of it is lost. If
// the lines were cut off nothing runs at all.
//
// The locale is C from here on, so that bytes stay bytes; p_L keeps what it was
// for the user's commands. No name without p_ is touched, since a variable of
// that name may be exported.
const boot = `p_L=${LC_ALL+x}${LC_ALL-};LC_ALL=C;p_n=$(printf "\nx");p_n=${p_n%x};IFS= read -r p_N;p_S=;p_E=;` +
	`while IFS= read -r p_l;do case $p_l in "$p_N")p_E=1;break;;esac;p_S="$p_S$p_l$p_n";done;` +
	`case $p_E in 1);;*)exit 3;;esac;eval "$p_S";`

// argv returns the arguments that run a script: constant text with no single
// quote, no newline, no "!" and no doubled backslash, so that sh, fish and csh
// alike pass it on in single quotes (hazard SSHX-06).
func (e *Engine) argv(name string) []string {
	text := boot + oneline.Join(source("prelude"))
	if name == "exec" || name == "kill" {
		text += oneline.Join(source("tree"))
	}
	return []string{e.core.shell, "-c", text + oneline.Join(source(name))}
}

// values returns the lines that boot runs: the script's arguments, whether it has an
// effect, and the facts of the target that scripts depend on.
func (e *Engine) values(effect bool, args ...string) string {
	p := e.core.probe
	var b strings.Builder
	b.WriteString("set -- " + words(args...))
	for _, v := range [][2]string{
		{"p_R", e.confine()},
		{"p_Q", e.roots()},
		{"p_may", flag(!effect)},
		{"p_proc", flag(p.Proc)},
		{"p_head", flag(p.HeadBytes)},
		{"p_stat", p.Stat},
		{"p_sync", flag(p.SyncFile)},
		{"p_cpattr", flag(p.CopyAttributes)},
		{"p_mvT", p.MoveNoDir},
		{"p_grepnul", flag(p.GrepNUL)},
		{"p_nap", nap(p)},
		{"p_sh", e.core.shell},
		{"p_own", flag(e.own)},
	} {
		b.WriteString("\n" + v[0] + "=" + Quote(v[1]))
	}
	return b.String()
}

// source returns an embedded script; name is constant text of this package.
func source(name string) string {
	data, err := scripts.ReadFile("sh/" + name + ".sh")
	if err != nil {
		panic(err) // not reachable: the file is part of the program
	}
	return string(data)
}

func flag(b bool) string {
	if b {
		return "y"
	}
	return ""
}

// nap is the shortest sleep the target can do, in seconds.
func nap(p Probe) string {
	if p.SleepFraction {
		return "0.05"
	}
	return "1"
}
