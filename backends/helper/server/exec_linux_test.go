package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// result returns the output and the end of a command.
func (p *peer) result(id uint32) (out string, r wire.ExecReply, failure *wire.Failure) {
	p.t.Helper()
	for {
		f := p.hear()
		switch {
		case f.Request != id:
		case f.Type == wire.TypeItem:
			var o wire.Output
			must(p.t, wire.Decode(f.Payload, &o))
			out += string(o.Chunk.Data)
		case f.Type == wire.TypeError:
			failure = &wire.Failure{}
			must(p.t, wire.Decode(f.Payload, failure))
			return out, r, failure
		default:
			must(p.t, wire.Decode(f.Payload, &r))
			return out, r, nil
		}
	}
}

// A command runs once, however often it is asked for, and who asks for one that
// never began is told so (hazard SSHX-08).
func TestSSHX08CommandRunsOnceByItsName(t *testing.T) {
	p := dial(t, t.TempDir())
	p.greet(hello())
	dir := t.TempDir()
	p.ask(1, wire.MethodOpen, &wire.OpenRequest{Dir: dir, Root: "/"})
	if f := p.failure(1); f != nil {
		t.Fatalf("%+v", f)
	}
	p.ask(2, wire.MethodAttach, &wire.AttachRequest{Job: "j"})
	if _, r, f := p.result(2); f != nil || !r.Never {
		t.Errorf("a command that never began: %+v, %+v", r, f)
	}
	run := func(id uint32, job string) (string, wire.ExecReply, *wire.Failure) {
		p.ask(id, wire.MethodExec, &wire.ExecRequest{Job: job, View: 1, Command: ops.Command{Script: "echo ran | tee -a " + job + "; exit 4", Dir: dir}})
		return p.result(id)
	}
	if out, r, f := run(3, "j"); out != "ran\n" || r.Exit.Code != 4 || f != nil {
		t.Errorf("%q, %+v, %+v", out, r, f)
	}
	if out, r, f := run(4, "j"); out != "ran\n" || r.Exit.Code != 4 || f != nil {
		t.Errorf("once more: %q, %+v, %+v", out, r, f)
	}
	for i := range uint32(maxPast + 1) {
		run(5+i, fmt.Sprint("other", i))
	}
	p.ask(100, wire.MethodAttach, &wire.AttachRequest{Job: "j"})
	if _, r, f := p.result(100); f == nil || r.Never || !strings.Contains(f.Text, "not known here any more") {
		t.Errorf("a command that is forgotten: %+v, %+v", r, f)
	}
	if _, r, f := run(101, "j"); f == nil {
		t.Errorf("a command that is forgotten, once more: %+v", r)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "j")); err != nil || string(data) != "ran\n" {
		t.Errorf("the command ran: %q, %v", data, err)
	}
}
