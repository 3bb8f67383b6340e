//go:build linux

package posix

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func TestDKF06PoorTargets(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		p := &f.core.probe
		*p = Probe{OS: p.OS, Sh: p.Sh, Bash: p.Bash, Setsid: p.Setsid, Readlink: true, WordCount: true, ProcessList: p.ProcessList, SleepFraction: true}
		set := f.Set()
		if _, ok := set.Read.(ops.WindowReader); ok {
			t.Error("a window without head -c")
		}
		if _, ok := set.Grep.(ops.Searcher); ok {
			t.Error("a search without find -print0")
		}
		if _, ok := set.Ls.(ops.Canonicalizer); !ok {
			t.Error("no Canonicalizer")
		}
		data := bytes.Repeat([]byte("a\x00\n\xff"), 700)
		name := f.put(t, "it's", "old")
		must(t, os.Chmod(name, 0o751))
		if _, err := f.WriteFile(ctx, name, data); err != nil {
			t.Fatal(err)
		}
		got, err := f.ReadFile(ctx, name, int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		_, err = f.ReadFile(ctx, name, 10)
		want(t, err, ops.ErrTooLarge)
		info, err := f.Stat(ctx, name)
		if err != nil || info.Size() != int64(len(data)) || info.Mode() != 0o751 {
			t.Errorf("%v, %v", info, err)
		}
		if dir, err := f.Stat(ctx, f.dir); err != nil || !dir.IsDir() {
			t.Errorf("%v, %v", dir, err)
		}
		must(t, os.Link(name, f.path("second")))
		if r, err := f.WriteFile(ctx, name, data); err != nil || r.InPlace == "" {
			t.Errorf("%+v, %v", r, err)
		}
		out, _ := f.sh(t, ops.Command{Script: "echo long #" + strings.Repeat("x", argCommand)})
		if out != "long\n" {
			t.Errorf("%q", out)
		}
		for _, ps := range []bool{true, false} {
			p.ProcessList = ps
			arg := uniqueArg(60)
			_, exit := f.sh(t, ops.Command{Script: "sleep " + arg + " & trap '' TERM; sleep " + arg, Timeout: time.Second, Grace: 100 * time.Millisecond})
			if !exit.TimedOut || exit.Unverified == "" {
				t.Errorf("%+v", exit)
			}
			if left := alive(t, arg); len(left) > 0 {
				t.Errorf("ps %v: left %v (%+v)", ps, left, exit)
			}
		}
	})
}
