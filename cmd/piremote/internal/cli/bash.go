package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
)

// shell runs a person's command on the workspace, as the bash tool would run it.
func (w *workplace) shell(ctx context.Context, command string, output func(delta string)) (session.BashResult, error) {
	bash := w.workspace.Set.Bash
	if bash == nil {
		return session.BashResult{}, errors.New("this workspace has no shell")
	}
	cfg := w.config.Shell
	if cfg.Prefix != "" {
		command = cfg.Prefix + "\n" + command
	}
	var mu sync.Mutex
	kept := textout.NewAccumulator(textout.Limits{})
	exit, err := bash.Exec(ctx, ops.Command{
		Script: command, Shell: ops.Shell{Path: cfg.Path}, Dir: w.workspace.Set.Target.Dir,
		Spill: cfg.Spill, Background: ops.Background(cfg.Background),
	}, func(c ops.Chunk) {
		mu.Lock()
		defer mu.Unlock()
		if c.Dropped > 0 {
			kept.Drop(c.Dropped, c.DroppedLines)
		}
		_, _ = kept.Write(c.Data) // never fails
		output(string(c.Data))
	})
	kept.Flush()
	snap := kept.Snapshot()
	result := session.BashResult{Output: snap.Text, Truncated: snap.Truncated}
	if snap.Truncated {
		result.FullOutputPath = exit.SpillPath
	}
	switch {
	case err != nil && ctx.Err() != nil:
		result.Cancelled = true
	case err != nil:
		return result, err
	default:
		result.ExitCode = &exit.Code
	}
	return result, nil
}
