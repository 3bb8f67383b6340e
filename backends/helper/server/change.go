//go:build linux

package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

func write(k *call, m *wire.WriteRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, k.unchanged(err)
	}
	sum := sha256.Sum256(m.Data)
	return k.change(set, wire.Record{Path: m.Path, View: m.View, After: hex.EncodeToString(sum[:])}, func(r *wire.Record) (wire.Message, error) {
		r.Report, err = writeAs(k.ctx, set, m)
		return &wire.WriteReply{Report: r.Report}, err
	})
}

func writeAs(ctx context.Context, set ops.Set, m *wire.WriteRequest) (ops.WriteReport, error) {
	switch m.Mode {
	case wire.WriteFile:
		return set.Write.WriteFile(ctx, m.Path, m.Data)
	case wire.WriteTree:
		if t, ok := set.Write.(ops.TreeWriter); ok {
			return t.WriteTree(ctx, m.Path, m.Data)
		}
	case wire.WriteSwap:
		if t, ok := set.Write.(ops.Replacer); ok {
			return t.ReplaceFile(ctx, m.Path, m.Expect, m.Data)
		}
	}
	return ops.WriteReport{}, errors.ErrUnsupported
}

func edit(k *call, m *wire.EditRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, k.unchanged(err)
	}
	e, ok := set.Edit.(ops.Editor)
	if !ok {
		return nil, k.unchanged(errors.ErrUnsupported)
	}
	return k.change(set, wire.Record{Path: m.Path, View: m.View, Edit: true}, func(r *wire.Record) (wire.Message, error) {
		report, err := e.EditFile(k.ctx, m.Path, m.Edit)
		r.Report, r.Hashes = report.WriteReport, [2]string{report.Before, report.After}
		return &wire.EditReply{Report: report}, err
	})
}

// change runs a change between its two records.
func (k *call) change(set ops.Set, r wire.Record, run func(r *wire.Record) (wire.Message, error)) (wire.Message, error) {
	j := &k.conn.session.journal
	r.Change = k.req.Change
	r.Before = versionOf(k.ctx, set, r.Path)
	if err := j.begin(r); err != nil {
		return nil, k.unchanged(err)
	}
	result, err := run(&r)
	if r.Change != "" {
		j.end(r, result, err)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// unchanged ends a change that failed before it began.
func (k *call) unchanged(err error) error {
	if k.req.Change != "" {
		k.conn.session.journal.end(wire.Record{Change: k.req.Change}, nil, err)
	}
	return err
}

// versionOf returns the version of a file; nil if it does not exist or can't be
// looked at.
func versionOf(ctx context.Context, set ops.Set, path string) *wire.FileVersion {
	info, err := set.Ls.Stat(ctx, path)
	if err != nil {
		return nil
	}
	id, _ := info.Sys().(ops.FileID)
	return &wire.FileVersion{ID: id, Size: info.Size(), Modified: info.ModTime()}
}

func ask(k *call, m *wire.AskRequest) (wire.Message, error) {
	j := &k.conn.session.journal
	r, begun, err := j.ask(k.ctx, m.Change)
	if err != nil || begun == nil {
		return &r, err
	}
	r, err = k.find(*begun)
	if err != nil {
		return nil, err
	}
	j.settle(m.Change, r)
	return &r, nil
}

// find looks what became of a change of a process that was killed: the file is as
// it was, or as the change makes it, or it can't be told.
func (k *call) find(r wire.Record) (wire.AskReply, error) {
	set, err := k.set(r.View)
	if err != nil {
		return wire.AskReply{}, err
	}
	now := versionOf(k.ctx, set, r.Path)
	if same(now, r.Before) {
		return wire.AskReply{Fate: wire.FateNever}, nil
	}
	if r.After == "" || now == nil {
		return wire.AskReply{Fate: wire.FateUnknown}, nil
	}
	data, err := set.Read.ReadFile(k.ctx, r.Path, wire.MaxUpload)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return wire.AskReply{Fate: wire.FateUnknown}, nil
		}
		return wire.AskReply{}, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != r.After {
		return wire.AskReply{Fate: wire.FateUnknown}, nil
	}
	r.Report = ops.WriteReport{Path: r.Path, Created: r.Before == nil}
	if c, ok := set.Read.(ops.Canonicalizer); ok {
		if p, err := c.Canonical(k.ctx, r.Path); err == nil {
			r.Report.Path = p
		}
	}
	return wire.AskReply{Fate: wire.FateDone, Result: briefly(r)}, nil
}

func same(a, b *wire.FileVersion) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Size == b.Size && a.Modified.Equal(b.Modified)
}
