package cli

import (
	"context"
	"errors"

	"github.com/piremote/piremote/agent/rpc"
	"github.com/piremote/piremote/agent/session"
)

// serveRPC answers commands on standard input until it ends.
func (a *app) serveRPC(ctx context.Context, s *session.Session, args []string) error {
	if len(args) > 0 {
		return &usageError{errors.New("--mode rpc takes no prompt: send it as a prompt command on standard input")}
	}
	return rpc.Serve(ctx, rpc.Options{Session: s, In: a.Stdin, Out: a.Stdout})
}
