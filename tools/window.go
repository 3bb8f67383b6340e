package tools

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

// maxPlainRead bounds what is held in memory of a file on a workspace that
// can't choose lines at the target.
const maxPlainRead = 256 << 20

// readWindow reads lines where the file is, if the workspace can, else from the
// whole file.
func readWindow(ctx context.Context, read ops.ReadOperations, path string, req ops.WindowRequest) (ops.Window, error) {
	if w, ok := read.(ops.WindowReader); ok {
		return w.ReadWindow(ctx, path, req)
	}
	if err := read.Access(ctx, path); err != nil {
		return ops.Window{}, err
	}
	data, err := read.ReadFile(ctx, path, maxPlainRead)
	if err != nil {
		return ops.Window{}, err
	}
	return windowOf(data, req), nil
}

func windowOf(data []byte, req ops.WindowRequest) ops.Window {
	win := ops.Window{Size: int64(len(data)), Head: data[:min(len(data), ops.WindowHead)]}
	rest := data
	for line := 1; len(rest) > 0; line++ {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		win.TotalLines = line
		fits := len(win.Data)+end <= req.MaxBytes && win.LineBytes == 0 && line == req.Offset+win.Lines
		switch {
		case line < req.Offset || win.Lines >= req.Limit:
		case fits:
			start := len(data) - len(rest)
			win.Data = data[start-len(win.Data) : start+end]
			win.Lines++
		case line == req.Offset:
			win.LineBytes = int64(end)
		}
		rest = rest[end:]
	}
	win.Invalid = !utf8.Valid(win.Data)
	return win
}
