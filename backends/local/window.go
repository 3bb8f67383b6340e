package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

// ReadWindow reads the file once, block by block, and keeps only what was asked
// for (hazard READ-01).
func (e engine) ReadWindow(ctx context.Context, path string, req ops.WindowRequest) (ops.Window, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return ops.Window{}, e.fail("read", path, err)
	}
	defer leave()
	f, info, err := e.openFile(ctx, path)
	if err != nil {
		return ops.Window{}, e.fail("read", path, err)
	}
	defer func() { _ = f.Close() }()
	c := collector{req: req}
	block := make([]byte, max(512, min(info.Size()+1, readBlock)))
	for {
		if err := ctx.Err(); err != nil {
			return ops.Window{}, e.fail("read", path, err)
		}
		n, err := f.Read(block)
		c.write(block[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return ops.Window{}, e.fail("read", path, err)
		}
	}
	if err := shortRead(f, c.win.Size, info); err != nil {
		return ops.Window{}, e.fail("read", path, err)
	}
	return c.finish(), nil
}

// collector picks a window out of a file that comes in blocks.
type collector struct {
	req ops.WindowRequest
	win ops.Window

	feeds   int    // line feeds so far
	open    bool   // the last line has begun and not ended
	partial []byte // the wanted line that has not ended
	length  int64  // its length, also of what was not kept
	closed  bool   // no further line is wanted
}

func (c *collector) write(p []byte) {
	if len(p) == 0 {
		return
	}
	c.win.Size += int64(len(p))
	if room := ops.WindowHead - len(c.win.Head); room > 0 {
		c.win.Head = append(c.win.Head, p[:min(room, len(p))]...)
	}
	c.open = p[len(p)-1] != '\n'
	for len(p) > 0 && !c.closed {
		end := bytes.IndexByte(p, '\n') + 1
		part, ended := p[:end], true
		if end == 0 {
			part, ended = p, false
		}
		p = p[len(part):]
		if c.feeds+1 >= c.req.Offset {
			c.take(part, ended)
		}
		if ended {
			c.feeds++
		}
	}
	c.feeds += bytes.Count(p, []byte{'\n'})
}

// take adds a part of a wanted line.
func (c *collector) take(part []byte, ended bool) {
	c.length += int64(len(part))
	if over := int64(len(c.win.Data))+c.length > int64(c.req.MaxBytes); over {
		c.partial = nil
		if c.win.Lines > 0 {
			c.closed = true // a later line that does not fit: its length is of no interest
			return
		}
	} else {
		c.partial = append(c.partial, part...)
	}
	if ended {
		c.endLine()
	}
}

func (c *collector) endLine() {
	if c.length == 0 || c.closed {
		return
	}
	if int64(len(c.win.Data))+c.length > int64(c.req.MaxBytes) {
		c.win.LineBytes, c.closed = c.length, true
		return
	}
	c.win.Data = append(c.win.Data, c.partial...)
	c.win.Lines++
	c.partial, c.length = c.partial[:0], 0
	c.closed = c.win.Lines >= c.req.Limit
}

func (c *collector) finish() ops.Window {
	c.endLine()
	c.win.TotalLines = c.feeds
	if c.open {
		c.win.TotalLines++
	}
	c.win.Invalid = !utf8.Valid(c.win.Data)
	return c.win
}
