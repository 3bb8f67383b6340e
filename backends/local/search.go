package local

import (
	"context"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
)

// Search searches file contents; see ops.Searcher.
func (e engine) Search(ctx context.Context, req ops.SearchRequest, yield func(ops.SearchLine) bool) (ops.SearchReport, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return ops.SearchReport{}, err
	}
	defer leave()
	r, err := match.Search(ctx, e, match.SearchRequest(req), func(l match.SearchLine) bool {
		return yield(ops.SearchLine(l))
	})
	return ops.SearchReport(r), err
}

// Glob finds paths; see ops.Globber.
func (e engine) Glob(ctx context.Context, req ops.GlobRequest, yield func(string) bool) (ops.SearchReport, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return ops.SearchReport{}, err
	}
	defer leave()
	r, err := match.Glob(ctx, e, match.GlobRequest(req), yield)
	return ops.SearchReport(r), err
}

// What the engine offers.
var (
	_ ops.ReadOperations  = engine{}
	_ ops.WriteOperations = engine{}
	_ ops.EditOperations  = engine{}
	_ ops.BashOperations  = engine{}
	_ ops.GrepOperations  = engine{}
	_ ops.FindOperations  = engine{}
	_ ops.Canonicalizer   = engine{}
	_ ops.WindowReader    = engine{}
	_ ops.Editor          = engine{}
	_ ops.TreeWriter      = engine{}
	_ ops.Replacer        = engine{}
	_ ops.Opener          = engine{}
	_ ops.Searcher        = engine{}
	_ ops.Globber         = engine{}
	_ match.FileSystem    = engine{}
	_ match.Opener        = engine{}
)
