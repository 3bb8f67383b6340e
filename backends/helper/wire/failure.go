package wire

import (
	"context"
	"errors"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

// Failure is an error as it travels: so much of its chain that errors.Is and
// errors.As see on the client what they would see at the target.
type Failure struct {
	Form Form
	Op   string // of a file error
	Path string // of a file error
	Code uint32 // the sentinel of a file error, by its place in sentinels
	Kind string // of a transport error
	Text string // the whole sentence, without op and path of a file error
	Tree bool   // it is in an *ops.TreeError
}

// Form is the outermost kind of an error.
type Form uint32

// The forms.
const (
	FormPlain     Form = iota // Text
	FormFile                  // *fs.PathError around a sentinel
	FormTransport             // *ops.TransportError
	FormMismatch              // *ops.MismatchError
	FormCanceled              // context.Canceled
	FormDeadline              // context.DeadlineExceeded
	FormProtocol              // the client broke the protocol
)

func (m *Failure) fields(c *codec) {
	form := uint32(m.Form)
	c.uint32(&form)
	if c.decoding {
		m.Form = Form(form)
	}
	c.string(&m.Op)
	c.string(&m.Path)
	c.uint32(&m.Code)
	c.string(&m.Kind)
	c.string(&m.Text)
	c.bool(&m.Tree)
}

// sentinels returns those of file errors; the place of each is its code on the
// wire.
func sentinels() []error {
	return []error{
		fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, fs.ErrInvalid, fs.ErrClosed, ops.ErrIsDir, ops.ErrNotDir, ops.ErrNotRegular,
		ops.ErrTooLarge, ops.ErrNoSpace, ops.ErrReadOnly, ops.ErrOutside, ops.ErrChanged, ops.ErrLoop,
	}
}

// FailureOf describes err, which must not be nil.
func FailureOf(err error) *Failure {
	var tree *ops.TreeError
	f := describe(err)
	f.Tree = errors.As(err, &tree)
	return f
}

func describe(err error) *Failure {
	var file *fs.PathError
	var link *ops.TransportError
	var mismatch *ops.MismatchError
	switch {
	case errors.As(err, &link):
		return &Failure{Form: FormTransport, Kind: string(link.Kind), Text: link.Error()}
	case errors.As(err, &mismatch):
		return &Failure{Form: FormMismatch, Text: mismatch.Error()}
	case errors.As(err, &file):
		f := &Failure{Form: FormFile, Op: file.Op, Path: file.Path, Text: file.Err.Error()}
		for i, s := range sentinels() {
			if errors.Is(file.Err, s) {
				f.Code = uint32(i) + 1
				break
			}
		}
		return f
	case errors.Is(err, context.Canceled):
		return &Failure{Form: FormCanceled}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{Form: FormDeadline}
	case errors.Is(err, ErrProtocol):
		return &Failure{Form: FormProtocol, Text: err.Error()}
	}
	return &Failure{Form: FormPlain, Text: err.Error()}
}

// Err returns the error again. target names the workspace in transport errors.
func (m *Failure) Err(target string) error {
	err := m.inner(target)
	if m.Tree {
		return &ops.TreeError{Err: err}
	}
	return err
}

func (m *Failure) inner(target string) error {
	switch m.Form {
	case FormFile:
		return &fs.PathError{Op: m.Op, Path: m.Path, Err: m.sentinel()}
	case FormTransport:
		return &ops.TransportError{Kind: ops.Kind(m.Kind), Target: target, Msg: m.Text}
	case FormMismatch:
		return &ops.MismatchError{Msg: m.Text}
	case FormCanceled:
		return context.Canceled
	case FormDeadline:
		return context.DeadlineExceeded
	case FormProtocol:
		return &ops.TransportError{Kind: ops.KindProtocol, Target: target, Msg: m.Text, Err: ErrProtocol}
	case FormPlain:
	}
	return errors.New(m.Text)
}

// sentinel is the inner error of a file error, with the target's words.
func (m *Failure) sentinel() error {
	all := sentinels()
	if m.Code == 0 || int(m.Code) > len(all) {
		return errors.New(m.Text)
	}
	s := all[m.Code-1]
	if m.Text == s.Error() {
		return s
	}
	return &worded{m.Text, s}
}

// worded is a sentinel with more to say.
type worded struct {
	text     string
	sentinel error
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.sentinel }
