package tools

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// resolve turns an argument into an absolute path on the target: "~" is the
// target's home, everything else is relative to the call's working folder.
// Remote paths follow POSIX rules whatever the client is (hazard CONF-09).
func (w workspace) resolve(arg string, scope tool.Scope) (string, error) {
	switch {
	case arg == "":
		return "", &failure{text: "path is empty: name a file or folder"}
	case strings.ContainsRune(arg, 0):
		return "", &failure{text: "path contains a NUL byte, which no file name can"}
	case arg == "~" || strings.HasPrefix(arg, "~/"):
		if w.set.Target.Home == "" {
			return "", &failure{text: "~ is unknown on this workspace: give an absolute path"}
		}
		return path.Join(w.set.Target.Home, arg[1:]), nil
	case path.IsAbs(arg):
		return path.Clean(arg), nil
	default:
		return path.Join(w.dir(scope), arg), nil
	}
}

// dir is the working folder of a call: the scope's, else the workspace's.
func (w workspace) dir(scope tool.Scope) string {
	if scope.Dir != "" {
		return scope.Dir
	}
	return w.set.Target.Dir
}

// root is the folder from which ignore rules count.
func (w workspace) root(scope tool.Scope) string {
	if scope.Root != "" {
		return scope.Root
	}
	if w.set.Target.Root != "" {
		return w.set.Target.Root
	}
	return w.dir(scope)
}

// alternatives lists what an argument may mean besides its exact bytes, in
// order: the name behind our escape for unprintable names, and the name without
// a leading "@". They count only when the exact name does not exist.
func alternatives(arg string) []string {
	var alts []string
	if name := unescape(arg); name != arg {
		alts = append(alts, name)
	}
	if strings.HasPrefix(arg, "@") && len(arg) > 1 {
		alts = append(alts, arg[1:])
	}
	return alts
}

// unescape undoes the escapes in a path. A name or path that we showed may stand
// behind a folder that the model put before it, and before more that it put
// behind; so an escape starts at any segment and takes as many as it can
// (hazards CONF-08, LS-01).
func unescape(arg string) string {
	segments := strings.Split(arg, "/")
	var out []string
	for len(segments) > 0 {
		name, n := segments[0], 1
		if strings.HasPrefix(name, `\:`) {
			for end := len(segments); end > 0; end-- {
				if plain, ok := textout.UnescapeName(strings.Join(segments[:end], "/")); ok {
					name, n = plain, end
					break
				}
			}
		}
		out, segments = append(out, name), segments[n:]
	}
	return strings.Join(out, "/")
}

// locate runs fn on the exact path and, if that does not exist, on the first
// alternative that exists. It returns the path that was used and, for an
// alternative, the argument that stands for it; fn gets both.
func (w workspace) locate(ctx context.Context, arg string, scope tool.Scope, variants bool,
	fn func(abs, used string) error,
) (abs, used string, err error) {
	abs, err = w.resolve(arg, scope)
	if err != nil {
		return "", "", err
	}
	err = fn(abs, "")
	if !errors.Is(err, fs.ErrNotExist) {
		return abs, "", err
	}
	for _, alt := range alternatives(arg) {
		p, rerr := w.resolve(alt, scope)
		if rerr != nil {
			continue
		}
		if aerr := fn(p, alt); !errors.Is(aerr, fs.ErrNotExist) {
			return p, alt, aerr
		}
	}
	if !variants {
		return abs, "", err
	}
	if p := w.spelling(ctx, abs); p != "" {
		return p, p, fn(p, p)
	}
	return abs, "", err
}

// spelling finds the only entry of the path's folder that differs from it in
// Unicode spelling alone: composed or decomposed letters, typographic
// apostrophes, unusual spaces. It returns "" if there is none or more than one.
func (w workspace) spelling(ctx context.Context, abs string) string {
	if w.set.Ls == nil || ctx.Err() != nil {
		return ""
	}
	folder, want := path.Dir(abs), fold(path.Base(abs))
	var found []string
	if err := w.set.Ls.ReadDir(ctx, folder, func(e fs.DirEntry) bool {
		if fold(e.Name()) == want {
			found = append(found, e.Name())
		}
		return len(found) < 2
	}); err != nil || len(found) != 1 {
		return ""
	}
	return path.Join(folder, found[0])
}

// fold maps spellings that people and models confuse to one.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u2018', '\u2019', '\u02BC':
			return '\''
		case '\u00A0', '\u2007', '\u2009', '\u202F', '\u3000':
			return ' '
		}
		return r
	}, norm.NFC.String(name))
}
