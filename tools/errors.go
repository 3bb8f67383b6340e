package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
)

// fileError says in one sentence what stood in the way of doing something to a
// file, in terms that let the model correct itself. It names the file whatever
// the error, and says so where nobody knows whether the effect happened. The
// cause stays in the chain.
func fileError(verb, arg string, err error) error {
	if err == nil {
		return nil
	}
	var told *failure
	if errors.As(err, &told) {
		return err // it is a sentence for the model already
	}
	reason := ""
	switch {
	case ops.KindOf(err) == ops.KindOutcomeUnknown:
		return &failure{
			text: fmt.Sprintf("It is unknown whether the %s of %s took effect: %s. Look at it before you try again.", verb, show(arg), sentence(err)),
			err:  err,
		}
	case errors.Is(err, context.Canceled):
		return &failure{text: fmt.Sprintf("%s of %s aborted", title(verb), show(arg)), err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{text: fmt.Sprintf("%s of %s timed out", title(verb), show(arg)), err: err}
	case errors.Is(err, ops.ErrOutside):
		reason = "it is outside the workspace; stay below the workspace root"
	case errors.Is(err, fs.ErrNotExist):
		reason = "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		reason = "permission denied"
	case errors.Is(err, ops.ErrIsDir):
		reason = "it is a directory"
	case errors.Is(err, ops.ErrNotDir), errors.Is(err, match.ErrNotDir):
		reason = "it, or a part of its path, is not a directory"
	case errors.Is(err, ops.ErrNotRegular), errors.Is(err, match.ErrNotRegular):
		reason = "it is not a regular file (a device, FIFO or socket)"
	case errors.Is(err, ops.ErrTooLarge):
		reason = "it is too large"
	case errors.Is(err, ops.ErrNoSpace):
		reason = "no space is left on the device; the old content is unchanged"
	case errors.Is(err, ops.ErrReadOnly):
		reason = "the file system is read-only"
	case errors.Is(err, ops.ErrLoop):
		reason = "its symbolic links form a loop"
	case errors.Is(err, ops.ErrChanged):
		reason = "it changed meanwhile; read it again"
	default:
		var pe *fs.PathError
		if errors.As(err, &pe) && ops.KindOf(err) == "" {
			reason = sentence(pe.Err)
		} else {
			reason = sentence(err)
		}
	}
	return &failure{text: fmt.Sprintf("Cannot %s %s: %s.", verb, show(arg), reason), err: err}
}

// fileError is the function of that name, where a path that leads out is told where
// it may lead.
func (w workspace) fileError(verb, arg string, err error) error {
	var told *failure
	root := w.set.Target.Root
	if !errors.Is(err, ops.ErrOutside) || errors.As(err, &told) || ops.KindOf(err) != "" || root == "" {
		return fileError(verb, arg, err)
	}
	places := show(root)
	for _, extra := range w.set.Target.Roots {
		places += " or " + show(extra.Path)
	}
	return &failure{text: fmt.Sprintf("Cannot %s %s: it is outside the workspace; stay below %s.", verb, show(arg), places), err: err}
}

// sentence is an error's text without the full stop that may end it.
func sentence(err error) string { return strings.TrimSuffix(err.Error(), ".") }

// failure is a sentence for the model over the error that caused it.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// show makes a path safe to print on one line.
func show(name string) string { return textout.EscapeName(name) }

func title(verb string) string { return strings.ToUpper(verb[:1]) + verb[1:] }

func join(names []string) string { return strings.Join(names, ", ") }

// bracket appends notes to text, each in brackets on a line of its own.
func bracket(text string, notes []string) string {
	if len(notes) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(text, "\n"))
	for i, n := range notes {
		switch {
		case b.Len() == 0:
		case i == 0:
			b.WriteString("\n\n")
		default:
			b.WriteString("\n")
		}
		b.WriteString("[" + n + "]")
	}
	return b.String()
}

// limitNote says that a limit of results was reached and how to see the rest.
func limitNote(reached string, limit int, narrower string) string {
	if limit >= maxLimit {
		return fmt.Sprintf("%s. %s to see the rest", reached, title(narrower))
	}
	return fmt.Sprintf("%s. Use limit=%d for more, or %s", reached, min(limit*2, maxLimit), narrower)
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
