package backendtest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// checkTime bounds one check; it is far more than any needs on a healthy target.
const checkTime = 2 * time.Minute

// ErrAbsent is what a check returns if the workspace has not the ability that it
// is about. It is no failure: absent means absent.
var ErrAbsent = errors.New("the workspace does not offer it")

// Workspace is an open workspace in a fresh, empty folder, confined to it.
type Workspace struct {
	Set     ops.Set
	Fixture Fixture
	// Close closes the workspace. Run calls it at the end of a check, also if
	// the check called it before.
	Close func() error
}

// Harness opens workspaces of one backend.
type Harness struct {
	Name string
	// Open opens a workspace in a fresh folder. The folder may have no siblings
	// other than those that checks make; see Fixture.
	Open func(tb testing.TB) Workspace
	// NoExec says that the target runs no commands. Then the checks of commands
	// demand that the workspace offers none and says so; see Weaker of ops.Target.
	NoExec bool
	// Only chooses among the checks; nil means all.
	Only func(Check) bool
}

// Check is one rule of the contract.
type Check struct {
	Name string
	// Rule is the sentence of the contract, with the hazards it guards against.
	Rule string
	// Exec says that the check runs commands on the target.
	Exec bool
	// Run returns what is wrong, nil, or an error around ErrAbsent.
	Run func(ctx context.Context, w *Workspace) error
}

// Run runs every check on a fresh workspace of its own.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range Checks() {
		if h.Only != nil && !h.Only(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			w := h.Open(t)
			w.Close = sync.OnceValue(w.Close)
			ctx, cancel := context.WithTimeout(t.Context(), checkTime)
			defer cancel()
			run := c.Run
			switch {
			case c.Exec && h.NoExec:
				run = saysThereIsNoShell
			case c.Exec && w.Set.Bash == nil:
				run = func(context.Context, *Workspace) error {
					return fmt.Errorf("no command can be given: %q", w.Set.Target.Weaker)
				}
			}
			err := run(ctx, &w)
			if cerr := w.Close(); cerr != nil {
				t.Errorf("%s: close: %v", h.Name, cerr)
			}
			switch {
			case errors.Is(err, ErrAbsent):
				t.Skip(err)
			case err != nil:
				t.Errorf("%s: %v\nrule: %s", h.Name, err, c.Rule)
			}
		})
	}
}

// saysThereIsNoShell is the check of commands where none can be run: there is no
// tool that would fail, and the reason is told.
func saysThereIsNoShell(_ context.Context, w *Workspace) error {
	if w.Set.Bash != nil || w.Set.PowerShell != nil {
		return errors.New("a command can be given to a target that runs none")
	}
	if err := w.weaker("no commands"); err != nil {
		return err
	}
	return fmt.Errorf("nothing says that there are no commands: %q", w.Set.Target.Weaker)
}

// weaker returns an error around ErrAbsent with what the workspace says about a
// guarantee that it does not give, or nil if it says nothing.
func (w *Workspace) weaker(words string) error {
	for _, sentence := range w.Set.Target.Weaker {
		if strings.Contains(sentence, words) {
			return fmt.Errorf("%w: %s", ErrAbsent, sentence)
		}
	}
	return nil
}

// Checks returns all checks.
func Checks() []Check {
	var all []Check
	for _, list := range [][]Check{
		readChecks(), windowChecks(), writeChecks(), editChecks(), treeChecks(), replaceChecks(), versionChecks(), mkdirChecks(), nameChecks(), listChecks(), cancelChecks(), searchChecks(),
		outputChecks(), endChecks(), placeChecks(), backgroundChecks(), killChecks(), spillChecks(), mutationChecks(), confineChecks(),
	} {
		all = append(all, list...)
	}
	return all
}

// at returns a path in the workspace's folder.
func (w *Workspace) at(names ...string) string {
	p := w.Set.Target.Dir
	for _, n := range names {
		p += "/" + n // path.Join would clean the name
	}
	return p
}

// beside returns a path next to the workspace's folder, which is outside of it.
func (w *Workspace) beside(suffix string) string {
	return path.Clean(w.Set.Target.Dir) + suffix
}

// put makes files of the workspace behind its back.
func (w *Workspace) put(files map[string]string) error {
	for name, text := range files {
		if err := w.Fixture.PutFile(w.at(name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("fixture: %w", err)
		}
	}
	return nil
}
