package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/piremote/piremote/tools/ops"
)

// What errors.Is and errors.As see of an error at the target, they see on the
// client, and the words are the same.
func TestErrorsSurviveTheWay(t *testing.T) {
	file := func(err error) error { return &fs.PathError{Op: "write", Path: "/a b", Err: err} }
	cases := map[string]struct {
		err error
		is  error
	}{
		"missing":    {file(fs.ErrNotExist), fs.ErrNotExist},
		"worded":     {file(fmt.Errorf("%w: it took 5 of 9 bytes", ops.ErrNoSpace)), ops.ErrNoSpace},
		"wrapped":    {fmt.Errorf("twice: %w", file(ops.ErrLoop)), ops.ErrLoop},
		"no name":    {file(errors.New("strange")), nil},
		"plain":      {errors.New("some text"), nil},
		"canceled":   {context.Canceled, context.Canceled},
		"deadline":   {fmt.Errorf("x: %w", context.DeadlineExceeded), context.DeadlineExceeded},
		"protocol":   {broken("it said %q", "x"), ErrProtocol},
		"tree":       {&ops.TreeError{Err: file(fs.ErrPermission)}, fs.ErrPermission},
		"transport":  {&ops.TransportError{Kind: ops.KindNoShell, Msg: "There is no bash"}, nil},
		"mismatched": {&ops.MismatchError{Msg: "oldText was not found"}, nil},
	}
	for _, s := range sentinels() {
		cases["sentinel "+s.Error()] = struct{ err, is error }{file(s), s}
	}
	for name, c := range cases {
		var f Failure
		if err := Decode(Encode(FailureOf(c.err)), &f); err != nil {
			t.Fatal(err)
		}
		got := f.Err("ssh://host/dir")
		if c.is != nil && !errors.Is(got, c.is) {
			t.Errorf("%s: %v is not %v", name, got, c.is)
		}
		var path *fs.PathError
		if errors.As(c.err, &path) {
			if !errors.As(got, &path) || path.Path != "/a b" || path.Op != "write" {
				t.Errorf("%s: %#v", name, got)
			}
		}
		if ops.KindOf(got) != ops.KindOf(c.err) && name != "protocol" {
			t.Errorf("%s: kind %q", name, ops.KindOf(got))
		}
		var tree, wantTree *ops.TreeError
		if errors.As(got, &tree) != errors.As(c.err, &wantTree) {
			t.Errorf("%s: %#v", name, got)
		}
		var mismatch, wantMismatch *ops.MismatchError
		if errors.As(got, &mismatch) != errors.As(c.err, &wantMismatch) {
			t.Errorf("%s: %#v", name, got)
		}
		if name != "wrapped" && name != "deadline" && got.Error() != c.err.Error() {
			t.Errorf("%s: %q, want %q", name, got, c.err)
		}
	}
}
