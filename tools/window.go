package tools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

// maxPlainRead bounds what is held in memory of a file on a workspace that can
// neither choose lines at the target nor stream.
const maxPlainRead = 256 << 20

// readWindow reads lines where the file is, if the workspace can, else from a
// stream of the file, else from the whole file (hazard READ-01).
func readWindow(ctx context.Context, read ops.ReadOperations, path string, req ops.WindowRequest) (ops.Window, error) {
	if w, ok := read.(ops.WindowReader); ok {
		return w.ReadWindow(ctx, path, req)
	}
	if err := read.Access(ctx, path); err != nil {
		return ops.Window{}, err
	}
	if o, ok := read.(ops.Opener); ok {
		return streamWindow(ctx, o, path, req)
	}
	data, version, err := steps.Read(ctx, read, path, maxPlainRead)
	if err != nil {
		return ops.Window{}, err
	}
	win, err := windowOf(bytes.NewReader(data), req)
	win.Version = version
	return win, err
}

func streamWindow(ctx context.Context, o ops.Opener, path string, req ops.WindowRequest) (ops.Window, error) {
	r, err := o.Open(ctx, path)
	if err != nil {
		return ops.Window{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.Close() }) // frees a blocked Read
	win, err := windowOf(r, req)
	if stop() {
		err = errors.Join(err, r.Close())
	}
	if ctx.Err() != nil {
		return ops.Window{}, context.Cause(ctx)
	}
	return win, err
}

// windowOf reads r to its end and keeps the lines that req asks for, in memory
// that is bounded by req.MaxBytes whatever the file or a line of it holds.
func windowOf(r io.Reader, req ops.WindowRequest) (ops.Window, error) {
	var win ops.Window
	s := windowScan{req: req, win: &win, line: 1}
	buf := make([]byte, 64<<10)
	for idle := 0; ; {
		n, err := r.Read(buf)
		if n > 0 {
			idle = 0
			s.add(buf[:n])
		} else if idle++; err == nil && idle == 100 {
			err = io.ErrNoProgress
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return ops.Window{}, err
		}
	}
	s.endLine(false)
	win.Invalid = !utf8.Valid(win.Data)
	return win, nil
}

// windowScan is what is known of a file up to some byte.
type windowScan struct {
	req    ops.WindowRequest
	win    *ops.Window
	line   int   // number of the line under way
	size   int64 // bytes of it so far
	kept   int   // bytes of the window's whole lines
	closed bool  // a line did not fit
}

func (s *windowScan) add(b []byte) {
	s.win.Head = append(s.win.Head, b[:min(len(b), ops.WindowHead-len(s.win.Head))]...)
	s.win.Size += int64(len(b))
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		piece := b
		if end > 0 {
			piece = b[:end]
		}
		s.size += int64(len(piece))
		if s.wanted() {
			s.win.Data = append(s.win.Data, piece[:min(len(piece), s.req.MaxBytes+1-len(s.win.Data))]...)
		}
		if end > 0 {
			s.endLine(true)
		}
		b = b[len(piece):]
	}
}

// wanted reports whether the line under way may be part of the window, and is
// not too long for it yet.
func (s *windowScan) wanted() bool {
	return !s.closed && s.line >= s.req.Offset && s.win.Lines < s.req.Limit && len(s.win.Data) <= s.req.MaxBytes
}

// endLine settles the line under way; fed says that a line feed ended it.
func (s *windowScan) endLine(fed bool) {
	if s.size == 0 {
		return // the empty rest after the last line feed is no line
	}
	s.win.TotalLines = s.line
	if !s.closed && s.line >= s.req.Offset && s.win.Lines < s.req.Limit {
		if len(s.win.Data) <= s.req.MaxBytes {
			s.win.Lines++
			s.kept = len(s.win.Data)
		} else {
			s.closed = true
			s.win.Data = s.win.Data[:s.kept]
			if s.win.Lines == 0 {
				s.win.LineBytes = s.size
			}
		}
	}
	if fed {
		s.line++
	}
	s.size = 0
}
