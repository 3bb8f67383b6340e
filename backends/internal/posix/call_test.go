//go:build linux

package posix

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
)

// stuckRunner takes the script, perhaps, and never answers.
type stuckRunner struct {
	takes bool
	taken chan struct{}
}

// Run implements Runner.
func (r *stuckRunner) Run(ctx context.Context, p Process) (Status, error) {
	if r.takes {
		_, _ = io.Copy(io.Discard, p.Stdin)
	}
	close(r.taken)
	<-ctx.Done()
	return Status{}, ctx.Err()
}

func TestWRIT02AbortedWriteSaysWhatIsKnown(t *testing.T) {
	for _, takes := range []bool{false, true} {
		r := &stuckRunner{takes: takes, taken: make(chan struct{})}
		e := &Engine{core: &core{runner: r, shell: "/bin/sh", spills: map[string]ops.FileID{}}, label: "stuck"}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-r.taken
			cancel()
		}()
		start := time.Now()
		_, err := e.WriteFile(ctx, "/x", []byte("data"))
		if !errors.Is(err, context.Canceled) || (ops.KindOf(err) == ops.KindOutcomeUnknown) != takes || time.Since(start) > 30*time.Second {
			t.Errorf("taken %v: %v after %v", takes, err, time.Since(start))
		}
	}
}

// mute loses the status and the answer of its first process.
type mute struct {
	Runner
	runs int
}

// Run implements Runner.
func (r *mute) Run(ctx context.Context, p Process) (Status, error) {
	if r.runs++; r.runs > 1 {
		return r.Runner.Run(ctx, p)
	}
	_, _ = io.Copy(io.Discard, p.Stdin)
	return Status{}, &ops.TransportError{Kind: ops.KindNoStatus, Msg: "no exit status received"}
}

// What has no effect is asked again where the way lost an answer; of what has one the
// outcome is unknown, and it is not repeated.
func TestSSHX04LostAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, targets(t)[0])
	f.put(t, "f", "text")
	next := f.core.runner
	for _, c := range []struct {
		name string
		call func() error
		kind ops.Kind
		runs int
	}{
		{"read", func() error { _, err := f.ReadFile(t.Context(), f.path("f"), 0); return err }, "", 2},
		{"write", func() error { _, err := f.WriteFile(t.Context(), f.path("f"), []byte("new")); return err }, ops.KindOutcomeUnknown, 1},
	} {
		r := &mute{Runner: next}
		f.core.runner = r
		if err := c.call(); ops.KindOf(err) != c.kind || (err == nil) != (c.kind == "") || r.runs != c.runs {
			t.Errorf("%s: %v after %d runs", c.name, err, r.runs)
		}
	}
	f.core.runner = next
}

func TestAbortedCommandThatNeverStarts(t *testing.T) {
	for _, takes := range []bool{false, true} {
		r := &stuckRunner{takes: takes, taken: make(chan struct{})}
		e := &Engine{core: &core{runner: r, shell: "/bin/sh", spills: map[string]ops.FileID{}, probe: Probe{Sh: "/bin/sh"}}, label: "stuck"}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-r.taken
			cancel()
		}()
		_, err := e.Exec(ctx, ops.Command{Script: "true", Dir: "/"}, nil)
		if !errors.Is(err, context.Canceled) || (ops.KindOf(err) == ops.KindOutcomeUnknown) != takes {
			t.Errorf("taken %v: %v", takes, err)
		}
	}
}

// truncating cuts the end off what a script is given.
type truncating struct {
	Runner
	bytes int64
}

// Run implements Runner.
func (r truncating) Run(ctx context.Context, p Process) (Status, error) {
	data, err := io.ReadAll(p.Stdin)
	if err != nil {
		return Status{}, err
	}
	p.Stdin = strings.NewReader(string(data[:int64(len(data))-r.bytes]))
	return r.Runner.Run(ctx, p)
}

func TestWRIT02CutLinkChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		p := f.put(t, "file", "old")
		f.core.runner = truncating{f.runner, 10}
		data := []byte(strings.Repeat("n", 1000))
		_, err := f.WriteFile(t.Context(), p, data)
		if ops.KindOf(err) != ops.KindUnavailable {
			t.Errorf("cut content: %v", err)
		}
		_, err = f.Exec(t.Context(), ops.Command{Script: "echo changed >" + Quote(p) + "\n#" + string(data) + strings.Repeat("#", argCommand), Dir: f.dir}, nil)
		if err == nil {
			t.Error("a cut command ran")
		}
		f.core.runner = truncating{f.runner, 1010}
		if _, err = f.WriteFile(t.Context(), p, data); err == nil {
			t.Error("a cut script ran")
		}
		if got, err := os.ReadFile(p); err != nil || string(got) != "old" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// holding keeps the channel open after the script has answered.
type holding struct{ Runner }

// Run implements Runner.
func (r holding) Run(ctx context.Context, p Process) (Status, error) {
	if _, err := r.Runner.Run(ctx, p); err != nil {
		return Status{}, err
	}
	<-ctx.Done()
	return Status{}, ctx.Err()
}

func TestSSHX03HeldChannelDoesNotHoldAnswers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.core.runner = holding{f.runner}
		if _, err := f.Stat(t.Context(), f.dir); err != nil {
			t.Error(err)
		}
	})
}

func TestScannerFindsMarksHoweverCut(t *testing.T) {
	text := "a\n\nb\nNO\n\nNONCE run 12\nout\nNONC\n\nNONCE exit 3 KILL\nrest\n"
	for size := 1; size < len(text); size++ {
		var out strings.Builder
		var marks []string
		s := scanner{nonce: "NONCE"}
		emit := func(p []byte) { out.Write(p) }
		for i := 0; i < len(text); i += size {
			s.scan([]byte(text[i:min(len(text), i+size)]), emit, func(w []string) { marks = append(marks, strings.Join(w, " ")) })
		}
		s.rest(emit)
		if diff := cmp.Diff([]string{"run 12", "exit 3 KILL"}, marks); diff != "" || out.String() != "a\n\nb\nNO\nout\nNONC\nrest\n" {
			t.Errorf("size %d: %q %s", size, out.String(), diff)
		}
	}
}

func TestLargeOutputComesInBoundedPieces(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		total, largest := 0, 0
		exit, err := f.Exec(t.Context(), ops.Command{Script: "head -c 50000000 /dev/zero", Dir: f.dir}, func(c ops.Chunk) {
			total, largest = total+len(c.Data), max(largest, len(c.Data))
		})
		if err != nil || exit.Code != 0 || total != 50000000 || largest > 1<<20 {
			t.Errorf("%d bytes, largest %d, %+v, %v", total, largest, exit, err)
		}
	})
}
