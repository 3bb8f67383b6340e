package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/tools/textout"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on the workspace and what does not, with the reason and the mend",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	described, err := a.described(cfg)
	if err != nil {
		return err
	}
	findings, err := wire.Diagnose(ctx, wire.Options{
		Workspace: described, Config: cfg, Env: a.Env,
		Notice: func(text string) { a.say("%-5s %-12s %s\n", "note", "", textout.Line(text)) },
	})
	for _, f := range findings {
		mark := "ok"
		if !f.OK {
			mark = "FAIL"
		}
		a.say("%-5s %-12s %s\n", mark, f.Name, textout.Line(f.Detail))
		if f.Mend != "" {
			a.say("%-5s %-12s %s\n", "", "", f.Mend)
		}
	}
	if err != nil {
		return &codeError{exitCode(err), fmt.Errorf("the workspace can't be used: %w", err)}
	}
	return nil
}
