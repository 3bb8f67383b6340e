package backendtest_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/tools/ops/opstest"
)

// workers is the number of checks that run at a time; most of them wait.
const workers = 16

// TestEveryCheckFailsOnItsBreachAlone proves that each check can fail, and that
// it fails for its own rule: a workspace that breaks one rule passes all other
// checks. Only the long form tries those that run commands on workspaces which break
// rules of files.
func TestEveryCheckFailsOnItsBreachAlone(t *testing.T) {
	t.Parallel()
	checks := backendtest.Checks()
	commands := map[string]bool{}
	for _, c := range checks {
		commands[c.Name] = c.Exec
	}
	all := os.Getenv("PIREMOTE_SOAK") == "1" //nolint:forbidigo // tests read their own switches
	slots := make(chan struct{}, workers)
	var group sync.WaitGroup
	for _, b := range opstest.Broken() {
		for _, c := range checks {
			_, coupled := b.Coupled[c.Name]
			if c.Exec && !commands[b.Check] && !coupled && !all {
				continue // processes are costly, and a breach of the file operations runs none
			}
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				err := onBreach(t.Context(), b, c)
				if errors.Is(err, backendtest.ErrAbsent) {
					err = nil
				}
				switch fails := c.Name == b.Check || coupled; {
				case fails && err == nil:
					t.Errorf("%s does not notice the breach of %s: %s", c.Name, b.Check, b.Fault)
				case !fails && err != nil:
					t.Errorf("%s fails on the breach of %s (%s): %v", c.Name, b.Check, b.Fault, err)
				}
			})
		}
	}
	group.Wait()
}

func onBreach(ctx context.Context, b opstest.Breach, c backendtest.Check) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m := opstest.NewMemory(opstest.Options{})
	w := backendtest.Workspace{Set: b.Break(m), Fixture: m, Close: m.Close}
	err := c.Run(ctx, &w)
	if cerr := m.Close(); err == nil {
		err = cerr
	}
	return err
}

func TestEveryCheckHasOneBreach(t *testing.T) {
	var checks, broken []string
	for _, c := range backendtest.Checks() {
		checks = append(checks, c.Name)
		if c.Rule == "" || c.Run == nil {
			t.Errorf("%s has no rule or nothing to run", c.Name)
		}
	}
	for _, b := range opstest.Broken() {
		broken = append(broken, b.Check)
	}
	slices.Sort(checks)
	slices.Sort(broken)
	if !slices.Equal(checks, broken) {
		t.Errorf("checks and breaches differ:\n%q\n%q", checks, broken)
	}
	if len(slices.Compact(checks)) != len(broken) {
		t.Error("a name is given twice")
	}
}
