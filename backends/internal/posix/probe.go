package posix

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// Probe is what is known about a target. All of it comes from one round trip.
type Probe struct {
	OS         string // linux, darwin …, in lower case; empty if unknown
	Home       string
	Temp       string // folder for temporary files
	UID        string
	Dir        string     // physical path of Options.Dir
	Root       string     // physical path of Options.Root
	Extra      []ops.Root // Options.ExtraRoots, physical
	Bash       string     // absolute paths; empty if absent
	Sh         string
	PowerShell string
	Setsid     string
	Ripgrep    string

	Proc           bool   // /proc tells about processes
	HeadBytes      bool   // head -c
	TailLines      bool   // tail -n +N
	Stat           string // c (stat -c), f (stat -f) or empty (ls)
	Readlink       bool
	WordCount      bool
	ProcessList    bool   // ps
	GrepNUL        bool   // grep finds text after a NUL
	MoveNoDir      string // -T if mv has it
	SyncFile       bool   // sync takes a file
	CopyAttributes bool   // cp --attributes-only
	SleepFraction  bool
	FindNUL        bool // find -print0
	XargsNUL       bool // xargs -0
}

// look runs the probe script and fills p from its answer.
func (e *Engine) look(ctx context.Context, script, dir, root string, p *Probe) error {
	var extra []string
	if root != "" {
		for _, r := range e.core.asked {
			extra = append(extra, r.Path)
		}
	}
	r, err := e.call(ctx, request{script: script, args: append([]string{dir, root}, extra...), limit: 1 << 20})
	if errors.Is(err, errReplyTooLong) {
		return e.transport(ops.KindProtocol, e.label+": the answer to the first command is far too long", nil)
	}
	if err != nil {
		return err
	}
	if _, err := r.failure(); err != nil {
		return e.transport(ops.KindUnavailable, e.label+": the folder "+dir+" can't be entered: "+err.Error(), err)
	}
	notDir := false
	for kv := range bytes.SplitSeq(r[len(r)-1].data, []byte{0}) {
		k, v, _ := strings.Cut(string(kv), "=")
		if k == "notdir" {
			notDir = true
		}
		if k == "extra" && len(p.Extra) < len(extra) {
			p.Extra = append(p.Extra, ops.Root{Path: v, ReadOnly: e.core.asked[len(p.Extra)].ReadOnly})
		}
		p.set(k, v)
	}
	switch {
	case p.Dir == "" && notDir:
		return e.transport(ops.KindUnavailable, e.label+": "+dir+" can't be entered: it is not a folder, or not permitted", ops.ErrNotDir)
	case p.Dir == "":
		return e.transport(ops.KindUnavailable, e.label+": the folder "+dir+" does not exist on the target", nil)
	case root != "" && p.Root == "":
		return e.transport(ops.KindUnavailable, e.label+": the root folder "+root+" does not exist on the target", nil)
	}
	for i, r := range extra {
		if i >= len(p.Extra) || p.Extra[i].Path == "" {
			return e.transport(ops.KindUnavailable, e.label+": the extra root "+r+" is no folder on the target that can be entered", nil)
		}
		if strings.Contains(p.Extra[i].Path, "\n") {
			return e.transport(ops.KindUnavailable, e.label+": the extra root "+r+" leads to a path with a line feed", nil)
		}
	}
	return nil
}

func (p *Probe) set(k, v string) {
	yes := v != ""
	switch k {
	case "os":
		p.OS = strings.ToLower(v)
	case "home":
		p.Home = v
	case "tmp":
		p.Temp = v
	case "uid":
		p.UID = v
	case "dir":
		p.Dir = v
	case "root":
		p.Root = v
	case "bash":
		p.Bash = v
	case "sh":
		p.Sh = v
	case "pwsh":
		p.PowerShell = v
	case "powershell":
		if p.PowerShell == "" {
			p.PowerShell = v
		}
	case "setsid":
		p.Setsid = v
	case "rg":
		p.Ripgrep = v
	case "proc":
		p.Proc = yes
	case "head":
		p.HeadBytes = yes
	case "tailn":
		p.TailLines = yes
	case "stat":
		p.Stat = v
	case "readlink":
		p.Readlink = yes
	case "wc":
		p.WordCount = yes
	case "ps":
		p.ProcessList = yes
	case "grepnul":
		p.GrepNUL = yes
	case "mvT":
		p.MoveNoDir = v
	case "sync":
		p.SyncFile = yes
	case "cpattr":
		p.CopyAttributes = yes
	case "sleep":
		p.SleepFraction = yes
	case "xargs0":
		p.XargsNUL = yes
	case "print0":
		p.FindNUL = yes
	}
}
