package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// othersRounds is how often each of those who change one file does so.
func othersRounds() int {
	if os.Getenv("PIREMOTE_SOAK") == "1" {
		return 500
	}
	return 20
}

// Two connections, each with a helper of its own, and programs of the host change one
// remote file at a time: each line that somebody added is there, or in a version that
// was kept. What an editor loses by replacing the file with a copy of an older state is
// its own doing: beside it only its own lines are asked for.
func TestMUTQ04OthersLoseNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name   string
		add    func(p string, i int) error // nil: nobody
		leaves bool                        // add never takes away a line of others
	}{
		{"two connections", nil, true},
		{"an editor that replaces", editorReplaces, false},
		{"an in-place writer", writerAppends, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := servers.StartSSHD(t, servers.SSHDOptions{})
			host, dir := s.Folder(t)
			p := filepath.Join(host, "f")
			if err := os.WriteFile(p, []byte("end\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var writers, other sync.WaitGroup
			clients := []*client{connected(t, s, dir), connected(t, s, dir)}
			for n, c := range clients {
				writers.Go(func() { c.addLines(t, fmt.Sprint("client ", n), n) })
			}
			theirs := 0
			allowed := clients[0].begun
			if kind.add != nil {
				other.Go(func() {
					for { // one that never rests would let no edit pass
						select {
						case <-allowed:
						case <-ctx.Done():
							return
						}
						if err := kind.add(p, theirs); err != nil {
							t.Errorf("their %d: %v", theirs, err)
							return
						}
						theirs++
					}
				})
			}
			writers.Wait()
			cancel()
			other.Wait()
			all := filesOf(t, host)
			want := func(name string, count int) {
				lost := 0
				for i := range count {
					// Not as a whole line: half of one may have been copied while it was written.
					if !strings.Contains(all, fmt.Sprintf("%s %d\n", name, i)) {
						lost++
					}
				}
				if lost > 0 {
					t.Errorf("%d of %d lines of %s are lost", lost, count, name)
				}
			}
			want("their", theirs)
			if kind.leaves {
				want("client 0", othersRounds())
				want("client 1", othersRounds())
			}
			t.Logf("%d rounds of each client beside %d of theirs", othersRounds(), theirs)
		})
	}
}

// editorReplaces reads the file and puts an edited copy into its place.
func editorReplaces(p string, i int) error {
	data, err := os.ReadFile(p)
	if err == nil {
		err = os.WriteFile(p+"~", fmt.Appendf(nil, "their %d\n%s", i, data), 0o600)
	}
	if err == nil {
		err = os.Rename(p+"~", p)
	}
	return err
}

// writerAppends writes to the file as it is, in two pieces.
func writerAppends(p string, i int) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("their ")
	_, err2 := fmt.Fprintf(f, "%d\n", i)
	return errors.Join(err, err2, f.Close())
}

// client is one piremote's hold of a file.
type client struct {
	executor *call.Executor
	begun    chan struct{} // a token for each round of changing it
}

func connected(t *testing.T, s *servers.SSHD, dir string) *client {
	t.Helper()
	set, done := overSSH(t, s, s.Port, func(o *ssh.Options) {
		o.Helper, o.Helpers, o.Dir = helper.Require, helpertest.Bundle(t), dir
	})
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	list, err := tools.New(set, []string{"read", "write", "edit"}, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &client{
		executor: call.New(call.Options{Tools: func() []tool.Tool { return list }}), begun: make(chan struct{}, othersRounds()),
	}
}

// addLines adds its lines before the last one, by edits and by whole writes in turn, as
// a model would: what is refused is tried again after a look.
func (c *client) addLines(t *testing.T, name string, turn int) {
	t.Helper()
	for i := range othersRounds() {
		line := fmt.Sprintf("%s %d\n", name, i)
		c.begun <- struct{}{}
		const tries = 10_000
		for try := 0; ; try++ {
			text := c.do(t, "read", map[string]any{"path": "f", "offset": 1})
			var outcome call.Outcome
			if content := tool.TextOf(text.Result.Content); (i+turn)%2 == 0 || len(content) > 4_000 {
				outcome = c.do(t, "edit", map[string]any{"path": "f", "edits": []map[string]string{{"oldText": "end\n", "newText": line + "end\n"}}})
			} else {
				outcome = c.do(t, "write", map[string]any{"path": "f", "content": line + content})
			}
			if !outcome.IsError {
				break
			}
			var mismatch *ops.MismatchError
			if try == tries || !errors.Is(outcome.Err, ops.ErrChanged) && !errors.As(outcome.Err, &mismatch) {
				t.Errorf("%s: %s", line, tool.TextOf(outcome.Result.Content))
				return
			}
		}
	}
}

func (c *client) do(t *testing.T, name string, args map[string]any) call.Outcome {
	t.Helper()
	return c.executor.Do(t.Context(), batchCall(t, name, args), nil)
}

// filesOf joins what the files of a folder hold.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
