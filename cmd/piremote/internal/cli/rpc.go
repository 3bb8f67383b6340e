package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piremote/piremote/agent/rpc"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/agent/session/export"
)

// serveRPC answers commands on standard input until it ends.
func (a *app) serveRPC(ctx context.Context, s *session.Session, args []string) error {
	if len(args) > 0 {
		return &usageError{errors.New("--mode rpc takes no prompt: send it as a prompt command on standard input")}
	}
	return rpc.Serve(ctx, rpc.Options{
		Session: s, In: a.Stdin, Out: a.Stdout,
		Export: func(_ context.Context, path string) (string, error) { return exportPage(s, path) },
	})
}

// exportPage writes the session as a page; an empty path names it by the session's
// id, in the current folder.
func exportPage(s *session.Session, path string) (string, error) {
	log := s.Log()
	path, err := filepath.Abs(cmp.Or(path, "piremote-session-"+log.Header().ID+".html"))
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the client names the file
	if err != nil {
		return "", fmt.Errorf("the page can't be made: %w", err)
	}
	return path, errors.Join(export.HTML(f, log, log.Leaf()), f.Close())
}
