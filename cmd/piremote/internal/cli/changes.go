package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/cmd/piremote/internal/wire"
)

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff [SANDBOX]",
		Short: "Show what sandboxes changed in their copies of the current folder",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return a.diff(args) },
	}
}

func (a *app) applyCommand() *cobra.Command {
	discard := false
	cmd := &cobra.Command{
		Use:   "apply [SANDBOX]",
		Short: "Put what a sandbox changed in its copy into the current folder",
		Long: "apply makes the changes of a sandbox's copy in the current folder, or says why not. What was changed here since\n" +
			"the copy was made is left as it is: then the exit code is 1, and both versions stay.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.apply(args, discard) },
	}
	cmd.Flags().BoolVar(&discard, "discard", false, "forget the changes instead")
	return cmd
}

// changes returns the sets of the current folder, or the one of a sandbox.
func (a *app) changes(args []string) ([]*wire.ChangeSet, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	described, err := a.described(cfg)
	if err != nil {
		return nil, err
	}
	sets, err := wire.SandboxChanges(wire.Options{Workspace: described, Config: cfg, Env: a.Env})
	if err != nil || len(args) == 0 {
		return sets, err
	}
	for _, set := range sets {
		if set.Name == args[0] {
			return []*wire.ChangeSet{set}, nil
		}
	}
	return nil, &usageError{fmt.Errorf("no changes are kept of a sandbox %s on this folder; piremote diff shows those that are", args[0])}
}

func (a *app) diff(args []string) error {
	sets, err := a.changes(args)
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		a.notice("no changes of a sandbox are kept for this folder")
	}
	for _, set := range sets {
		a.say("# %s of %s, ended at %s: %s\n", set.Name, set.Image, set.Time.Format(time.RFC3339), plural(len(set.Changes), "change", "changes"))
		for _, change := range set.Changes {
			text, err := set.Patch(change)
			if err != nil {
				return err
			}
			a.say("%s", a.forStdout(text))
		}
		for _, name := range set.Skipped {
			a.say("left out, since it is no file, folder or link: %q\n", name)
		}
	}
	return nil
}

func (a *app) apply(args []string, discard bool) error {
	sets, err := a.changes(args)
	switch {
	case err != nil:
		return err
	case len(sets) == 0:
		a.notice("no changes of a sandbox are kept for this folder")
		return nil
	case len(sets) > 1:
		return &usageError{fmt.Errorf("there are changes of %d sandboxes: name one, such as %s; piremote diff shows them", len(sets), sets[0].Name)}
	case discard:
		return sets[0].Discard()
	}
	list, err := sets[0].Apply()
	refused := 0
	for _, one := range list {
		switch file := sets[0].Content(one.Change); {
		case one.Refused == nil:
			a.say("applied %q\n", one.Change.Path)
		case file != "":
			refused++
			a.say("refused %q: %v; the version of the sandbox is %s\n", one.Change.Path, one.Refused, file)
		default:
			refused++
			a.say("refused %q: %v\n", one.Change.Path, one.Refused)
		}
	}
	if refused > 0 {
		err = errors.Join(err, &codeError{exitError, fmt.Errorf("%s refused and kept: piremote apply tries again, piremote apply --discard forgets",
			plural(refused, "change was", "changes were"))})
	}
	return err
}
