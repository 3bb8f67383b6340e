package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
)

func (a *app) gcCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "End what lost clients left running on the workspace's target, and remove what they left there",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.gc(cmd.Context()) },
	}
}

// gc removes sandboxes that lost clients left, ends the sessions on a target that nobody
// attends, and removes the helpers that nobody uses.
func (a *app) gc(ctx context.Context) (err error) {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	described, err := a.described(cfg)
	if err != nil {
		return err
	}
	o := wire.Options{Workspace: described, Config: cfg, Env: a.Env, Notice: a.notice}
	sandboxes, err := wire.CollectSandboxes(ctx, o)
	removed := 0
	for _, l := range sandboxes {
		switch {
		case l.Removed:
			removed++
			a.say("removed the sandbox %s\n", l.Name)
		case l.Kept:
			a.say("kept the sandbox %s, made %v ago, until %s; docker rm -f %s removes it\n",
				l.Name, time.Since(l.Created).Round(time.Second), l.Until.Format(time.RFC3339), l.Name)
		}
	}
	switch {
	case err != nil && described.Backend == "sandbox":
		return err
	case err != nil:
		a.notice("Sandboxes could not be looked for: " + err.Error())
	}
	if described.Backend == "sandbox" || len(sandboxes) > 0 {
		a.say("%s, %d are in use or kept\n", plural(removed, "sandbox was removed", "sandboxes were removed"), len(sandboxes)-removed)
	}
	if described.Backend == "sandbox" {
		return nil // nothing else outlives its client there
	}
	ws, err := wire.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, ws.Close()) }()
	if ws.Remote == nil {
		a.say("Nothing outlives its client here: the helper is not used.\n")
		return nil
	}
	return a.collect(ctx, ws)
}

// collect ends and removes what is left behind a helper.
func (a *app) collect(ctx context.Context, ws *wire.Workspace) error {
	found, err := ws.Remote.Inventory(ctx, true)
	if err != nil {
		return err
	}
	removed := 0
	for _, s := range found.Sessions {
		if s.State == helper.SessionAttended {
			continue
		}
		removed++
		a.say("removed %s\n", wire.DescribeSession(s))
	}
	copies := 0
	for _, c := range found.Copies {
		if c.InUse {
			continue
		}
		copies++
		a.say("removed %s\n", wire.DescribeCopy(c))
	}
	a.say("%s, %s\n", plural(removed, "session was removed", "sessions were removed"),
		plural(copies, "helper of another version", "helpers of other versions"))
	return nil
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
