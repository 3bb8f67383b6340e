package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

func windowChecks() []Check {
	return []Check{
		{Name: "WindowLines", Rule: "a window holds whole lines from Offset on, at most Limit and MaxBytes of them (READ-01, READ-04)", Run: windowLines},
		{Name: "WindowTotals", Rule: "a window says how many lines and bytes the file has and how it begins", Run: windowTotals},
		{Name: "WindowErrors", Rule: "a window fails as ReadFile does", Run: windowErrors},
		{Name: "OpenStreams", Rule: "a stream has the bytes that ReadFile returns (SFTP-04)", Run: openStreams},
	}
}

func windowFiles() map[string]string {
	return map[string]string{
		"empty": "", "feed": "\n", "open": "one\ntwo\nthree", "closed": "one\ntwo\nthree\n", "blank": "\n\nx\n\n",
		"returns": "a\r\nb\rc\r\nd", "long": strings.Repeat("long ", 2000) + "\nshort\n", "bytes": "ok\n\xff\xfe\x00\nend",
		"many": strings.Repeat("0123456789\n", 1500) + "last",
	}
}

// window computes a window from the whole file.
func window(data []byte, req ops.WindowRequest) ops.Window {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	win := ops.Window{TotalLines: len(lines), Size: int64(len(data)), Head: data[:min(len(data), ops.WindowHead)]}
	for _, line := range lines[min(len(lines), req.Offset-1):] {
		if win.Lines == req.Limit {
			break
		}
		if len(win.Data)+len(line) > req.MaxBytes {
			if win.Lines == 0 {
				win.LineBytes = int64(len(line))
			}
			break
		}
		win.Data = append(win.Data, line...)
		win.Lines++
	}
	win.Invalid = !utf8.Valid(win.Data)
	return win
}

// eachWindow compares windows of each file with what they should be, every nth one, by
// turns: where there is no helper a window takes a process, and on a busy machine seconds.
func eachWindow(ctx context.Context, w *Workspace, every int, compare func(got, want ops.Window) error) error {
	r, ok := w.Set.Read.(ops.WindowReader)
	if !ok {
		return fmt.Errorf("read windows: %w", ErrAbsent)
	}
	if err := w.put(windowFiles()); err != nil {
		return err
	}
	requests := []ops.WindowRequest{
		{Offset: 1, Limit: 1, MaxBytes: 1},
		{Offset: 1, Limit: 2000, MaxBytes: 50 << 10},
		{Offset: 2, Limit: 1, MaxBytes: 4},
		{Offset: 3, Limit: 5, MaxBytes: 100},
		{Offset: 4, Limit: 1, MaxBytes: 100},
		{Offset: 1499, Limit: 2000, MaxBytes: 20},
		{Offset: 9999, Limit: 1, MaxBytes: 9},
	}
	files := windowFiles()
	for i, name := range slices.Sorted(maps.Keys(files)) {
		for j, req := range requests {
			if (i+j)%every != 0 {
				continue
			}
			got, err := r.ReadWindow(ctx, w.at(name), req)
			if err == nil {
				err = compare(got, window([]byte(files[name]), req))
			}
			if err != nil {
				return fmt.Errorf("%s %+v: %w", name, req, err)
			}
		}
	}
	return nil
}

func windowLines(ctx context.Context, w *Workspace) error {
	return eachWindow(ctx, w, 2, func(got, want ops.Window) error {
		return first(sameBytes("Data", got.Data, want.Data), same("Lines", got.Lines, want.Lines),
			same("LineBytes", got.LineBytes, want.LineBytes), same("Invalid", got.Invalid, want.Invalid))
	})
}

// windowTotals looks at one window or two of each file: the totals are those of the file.
func windowTotals(ctx context.Context, w *Workspace) error {
	return eachWindow(ctx, w, 5, func(got, want ops.Window) error {
		return first(same("TotalLines", got.TotalLines, want.TotalLines), same("Size", got.Size, want.Size), sameBytes("Head", got.Head, want.Head))
	})
}

func windowErrors(ctx context.Context, w *Workspace) error {
	r, ok := w.Set.Read.(ops.WindowReader)
	if !ok {
		return fmt.Errorf("read windows: %w", ErrAbsent)
	}
	if err := w.Fixture.Mkdir(w.at("folder"), 0o755); err != nil {
		return err
	}
	req := ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 1}
	_, missing := r.ReadWindow(ctx, w.at("missing"), req)
	_, folder := r.ReadWindow(ctx, w.at("folder"), req)
	return first(fileError("a missing file", missing, fs.ErrNotExist), fileError("a folder", folder, ops.ErrIsDir))
}

func openStreams(ctx context.Context, w *Workspace) error {
	o, ok := w.Set.Read.(ops.Opener)
	if !ok {
		return fmt.Errorf("streams: %w", ErrAbsent)
	}
	for _, n := range []int{0, 1, 300_001} {
		want := anyBytes(n)
		if err := w.Fixture.PutFile(w.at("data"), want, 0o644); err != nil {
			return err
		}
		r, err := o.Open(ctx, w.at("data"))
		if err != nil {
			return err
		}
		got, err := io.ReadAll(r)
		if err := first(errors.Join(err, r.Close()), sameBytes(fmt.Sprintf("a stream of %d bytes", n), got, want)); err != nil {
			return err
		}
	}
	_, err := o.Open(ctx, w.at("missing"))
	return fileError("a missing file", err, fs.ErrNotExist)
}
