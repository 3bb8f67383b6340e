package client_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// The signs of life of these tests.
var watched = client.Options{Keepalive: 10 * time.Second, KeepaliveCount: 2, Patience: time.Second}

// givenUp bounds the time after which a silent connection is given up: the silence
// begins between two looks.
const givenUp = 4 * 10 * time.Second

// A call that a silence caught does not wait into it: it ends in the time of the signs
// of life and the patience, with what is known (hazard SSHC-02).
func TestSSHC02SilentTargetFreesItsCallers(t *testing.T) {
	for name, c := range map[string]struct {
		call func(ctx context.Context, s ops.Set, path string) error
		kind ops.Kind
	}{
		"read":  {stat, ops.KindUnavailable},
		"write": {write, ops.KindOutcomeUnknown},
		"command": {func(ctx context.Context, s ops.Set, path string) error {
			_, err := s.Bash.Exec(ctx, ops.Command{Script: "true", Dir: filepath.Dir(path)}, nil)
			return err
		}, ops.KindOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := reaching(t, watched, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
				synctest.Wait()
				x.link.arm(0, 0, true)
				begin := time.Now()
				err := c.call(t.Context(), x.Set(), filepath.Join(x.dir, "f"))
				if took := time.Since(begin); ops.KindOf(err) != c.kind || took > givenUp+watched.Patience {
					t.Errorf("%v (kind %q) after %v", err, ops.KindOf(err), took)
				}
			})
		})
	}
}

// A target that gives a sign of life behind a silence is waited for: the change has its
// true result and is made once, and the read has its answer (hazards SSHC-07, MUTQ-06).
func TestSSHC07CallsGoOnWhereTheTargetGivesASign(t *testing.T) {
	const slow = 20 * time.Second // behind the sign
	for name, call := range map[string]func(ctx context.Context, s ops.Set, path string) error{"read": stat, "write": write} {
		for way, down := range map[string]int{"request lost": -1, "answer lost": 0} {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := reaching(t, watched, func(ctx context.Context) error {
						redial.Sign(ctx)
						select {
						case <-time.After(slow):
							return nil
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					})
					path := filepath.Join(x.dir, "f")
					if err := os.WriteFile(path, []byte("old content\n"), 0o644); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					x.link.arm(-1-down, down, true)
					begin := time.Now()
					err := call(t.Context(), x.Set(), path)
					if took := time.Since(begin); err != nil || took < slow || took > givenUp+slow+watched.Patience {
						t.Errorf("%v after %v", err, took)
					}
					want := int64(0)
					if name == "write" {
						want = 1
					}
					if n, noted := x.made.n.Load(), endings(t, x.cache); n != want || int64(noted) != want {
						t.Errorf("changed %d times, noted %d times", n, noted)
					}
				})
			})
		}
	}
}

func stat(ctx context.Context, s ops.Set, path string) error {
	_, err := s.Ls.Stat(ctx, path)
	return err
}

func write(ctx context.Context, s ops.Set, path string) error {
	_, err := s.Write.WriteFile(ctx, path, []byte("new content\n"))
	return err
}
