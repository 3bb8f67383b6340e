package backendtest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func mutationChecks() []Check {
	return []Check{
		{Name: "MutationsKeepBoth", Rule: "changes of one file under two names run one at a time (MUTQ-01)", Run: mutationsKeepBoth},
		{Name: "MutationsIndependent", Rule: "changes of different files never wait for each other (MUTQ-06)", Run: mutationsIndependent},
		{Name: "Canonical", Rule: "links are followed; a missing part is appended to its nearest existing ancestor (MUTQ-01, CONF-06)", Run: canonical},
		{Name: "AtMoves", Rule: "At gives the same connection with another folder and root, and the same queue", Run: atMoves},
	}
}

// mutationsKeepBoth increments a counter from two sides. Each waits a little
// between read and write for the other to have read too, which must not happen.
func mutationsKeepBoth(ctx context.Context, w *Workspace) error {
	if err := first(w.put(map[string]string{"real/counter": "0"}), w.Fixture.Symlink("real", w.at("alias"))); err != nil {
		return err
	}
	var bothRead sync.WaitGroup
	bothRead.Add(2)
	met := make(chan struct{})
	go func() {
		bothRead.Wait()
		close(met)
	}()
	increment := func(p string) error {
		return w.Set.Mutations.Mutate(ctx, p, func(ctx context.Context) error {
			data, err := w.Set.Edit.ReadFile(ctx, p, 0)
			bothRead.Done()
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(data))
			if err != nil {
				return err
			}
			pause := time.NewTimer(100 * time.Millisecond)
			defer pause.Stop()
			select {
			case <-met:
			case <-pause.C:
			}
			_, err = w.Set.Edit.WriteFile(ctx, p, []byte(strconv.Itoa(n+1)))
			return err
		})
	}
	other := make(chan error, 1)
	go func() { other <- increment(w.at("alias", "counter")) }()
	return first(increment(w.at("real", "counter")), <-other, holds(w.Fixture, w.at("real", "counter"), []byte("2")))
}

func mutationsIndependent(ctx context.Context, w *Workspace) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return w.Set.Mutations.Mutate(ctx, w.at("one"), func(context.Context) error { // not by its own context, which may pass
		return done("a change of another file", w.Set.Mutations.Mutate(ctx, w.at("two"), func(context.Context) error { return nil }))
	})
}

func canonical(ctx context.Context, w *Workspace) error {
	c, ok := w.Set.Write.(ops.Canonicalizer)
	if !ok {
		return fmt.Errorf("canonical paths: %w", ErrAbsent)
	}
	if err := first(w.put(map[string]string{"real/file": "x"}), w.Fixture.Symlink("real", w.at("alias")), w.Fixture.Symlink("real/file", w.at("link"))); err != nil {
		return err
	}
	for given, want := range map[string]string{
		"real/file": "/real/file", "alias/file": "/real/file", "link": "/real/file", "alias/new": "/real/new", "alias/new/er": "/real/new/er", "new": "/new", "alias/../real": "/real",
	} {
		got, err := c.Canonical(ctx, w.at(given))
		if err := first(done(given, err), same("the canonical path of "+given, got, w.Set.Target.Root+want)); err != nil {
			return err
		}
	}
	return nil
}

func atMoves(ctx context.Context, w *Workspace) error {
	if w.Set.At == nil {
		return fmt.Errorf("another folder: %w", ErrAbsent)
	}
	if err := w.put(map[string]string{"file": "above", "sub/file": "below"}); err != nil {
		return err
	}
	moved, err := w.Set.At(w.at("sub"), w.at("sub"))
	if err != nil {
		return err
	}
	got, err := moved.Read.ReadFile(ctx, w.at("sub", "file"), 0)
	_, outside := moved.Read.ReadFile(ctx, w.at("file"), 0)
	return first(err, sameBytes("a file of the new folder", got, []byte("below")), fileError("a file above the new root", outside, ops.ErrOutside),
		same("the folder", moved.Target.Dir, w.at("sub")), same("the queue is shared", moved.Mutations == w.Set.Mutations, true))
}
