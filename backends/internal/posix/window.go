package posix

import (
	"bytes"
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

// ReadWindow implements ops.WindowReader: tail and head choose the lines where
// the file is, in one round trip. Only when line Offset alone exceeds MaxBytes
// a second one asks for its length. Bytes are exact, NUL included, with the
// head and tail of coreutils, BusyBox and the BSDs.
func (e *Engine) ReadWindow(ctx context.Context, name string, req ops.WindowRequest) (ops.Window, error) {
	offset, limit, maxBytes := max(req.Offset, 1), max(req.Limit, 1), max(req.MaxBytes, 1)
	r, err := e.run(ctx, "read", name, request{limit: int64(maxBytes) + 1 + ops.WindowHead + replyRoom}, "window",
		strconv.Itoa(offset), strconv.Itoa(limit), strconv.Itoa(maxBytes+1), strconv.Itoa(ops.WindowHead))
	if err != nil {
		return ops.Window{}, err
	}
	protocol := func() error {
		return e.transport(ops.KindProtocol, e.label+": incomplete answer about "+name, nil)
	}
	if len(r) != 5 || len(r[3].mark) != 4 {
		return ops.Window{}, protocol()
	}
	info, err := e.info(r[0], name)
	if err != nil {
		return ops.Window{}, err
	} else if id, own := e.ownFile(name); own && id != info.ID {
		return ops.Window{}, pathError("read", name, ops.ErrOutside)
	}
	var n [3]int64 // line feeds, bytes, whether the last byte is a line feed
	for i := range n {
		if n[i], err = strconv.ParseInt(r[3].mark[i+1], 10, 64); err != nil {
			return ops.Window{}, protocol()
		}
	}
	w := ops.Window{Head: r[1].data, TotalLines: int(n[0]), Size: n[1], Version: version(info)}
	if n[1] > 0 && n[2] == 0 {
		w.TotalLines++
	}
	data := r[2].data
	if len(data) > maxBytes {
		data = data[:bytes.LastIndexByte(data[:maxBytes], '\n')+1]
		if len(data) == 0 {
			if w.LineBytes, err = e.lineLength(ctx, name, offset); err != nil {
				return ops.Window{}, err
			}
		}
	}
	w.Data = data
	w.Lines = bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		w.Lines++
	}
	w.Invalid = !utf8.Valid(data)
	return w, nil
}

func (e *Engine) lineLength(ctx context.Context, name string, line int) (int64, error) {
	r, err := e.run(ctx, "read", name, request{limit: replyRoom}, "linelen", strconv.Itoa(line))
	if err != nil {
		return 0, err
	}
	if len(r[0].mark) == 2 {
		if n, err := strconv.ParseInt(r[0].mark[1], 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, e.transport(ops.KindProtocol, e.label+": incomplete answer about "+name, nil)
}
