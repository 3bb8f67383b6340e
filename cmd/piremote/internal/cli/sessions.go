package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/compact"
	"github.com/piremote/piremote/agent/session/export"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/tools/textout"
)

func (a *app) sessionsCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, export and remove the sessions that are kept on this machine",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.listSessions("") },
	}
	output := ""
	exported := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session as one HTML file",
		Args:  oneSession,
		RunE:  func(_ *cobra.Command, args []string) error { return a.exportSession(args[0], output) },
	}
	exported.Flags().StringVarP(&output, "output", "o", "", "the file to make (default: standard output)")
	root.AddCommand(
		&cobra.Command{
			Use:   "list [TEXT]",
			Short: "List the sessions of all workspaces, or those whose workspace, name or beginning holds a text; the last used first",
			Args:  cobra.MaximumNArgs(1),
			RunE:  func(_ *cobra.Command, args []string) error { return a.listSessions(strings.Join(args, "")) },
		},
		&cobra.Command{
			Use:   "show SESSION",
			Short: "Show the conversation of a session: its id, the beginning of one, or its file",
			Args:  oneSession,
			RunE:  func(_ *cobra.Command, args []string) error { return a.showSession(args[0]) },
		},
		exported,
		&cobra.Command{
			Use:   "rm SESSION...",
			Short: "Remove sessions for good",
			RunE:  func(_ *cobra.Command, args []string) error { return a.removeSessions(args) },
		},
	)
	return root
}

func oneSession(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Errorf("%s takes one session: its id, the beginning of one, or its file; piremote sessions list shows them", cmd.CommandPath())}
	}
	return nil
}

// sessions are those of all workspaces, the last used first.
func (a *app) sessions() ([]store.Info, error) {
	folders, err := wire.SessionFolders(a.Env)
	if err != nil {
		return nil, err
	}
	var all []store.Info
	for _, folder := range folders {
		list, err := store.List(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b store.Info) int { return b.Modified.Compare(a.Modified) })
	return all, nil
}

// findSession returns the file of the session that a text names.
func (a *app) findSession(which string) (string, error) {
	if strings.ContainsRune(which, filepath.Separator) || strings.HasSuffix(which, ".jsonl") {
		_, err := store.Describe(which)
		return which, err
	}
	all, err := a.sessions()
	if err != nil {
		return "", err
	}
	var found []string
	for _, s := range all {
		switch {
		case s.Header.ID == which:
			return s.Path, nil
		case which != "" && strings.HasPrefix(s.Header.ID, which):
			found = append(found, s.Path)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &usageError{fmt.Errorf("no session has an id that begins with %q; piremote sessions list shows them", which)}
	}
	return "", &usageError{fmt.Errorf("%d sessions have an id that begins with %q: give more of it", len(found), which)}
}

func (a *app) listSessions(text string) error {
	all, err := a.sessions()
	if err != nil {
		return err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, s := range all {
		place, title := s.Header.Cwd, s.Name
		if s.Header.Workspace != nil {
			place = s.Header.Workspace.Label
		}
		if title == "" {
			title = s.First
		}
		if !strings.Contains(place+"\n"+s.Name+"\n"+s.First, text) {
			continue
		}
		title = textout.TruncateRunes(strings.Join(strings.Fields(title), " "), 60)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Header.ID, s.Modified.Local().Format(time.DateTime), strings.Join(strings.Fields(place), " "), title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if table.Len() == 0 {
		a.notice("there is no such session")
	}
	a.say("%s", a.forStdout(table.String()))
	return nil
}

// read opens a session for reading and tells what is wrong with it.
func (a *app) read(which string) (*store.Log, error) {
	path, err := a.findSession(which)
	if err != nil {
		return nil, err
	}
	l, err := store.Read(path)
	if err != nil {
		return nil, err
	}
	if r := l.Repair(); r.Torn > 0 || len(r.Unreadable) > 0 {
		a.notice(fmt.Sprintf("%s is damaged: %d bytes at its end and %d of its lines can't be read", path, r.Torn, len(r.Unreadable)))
	}
	return l, nil
}

func (a *app) showSession(which string) error {
	l, err := a.read(which)
	if err != nil {
		return err
	}
	var records []llm.Record
	for _, e := range l.Branch(l.Leaf()) {
		if m, ok := e.(store.Message); ok {
			records = append(records, m.Message)
		}
	}
	a.say("%s", a.forStdout(compact.Transcript(records)))
	return nil
}

func (a *app) exportSession(which, output string) error {
	l, err := a.read(which)
	if err != nil {
		return err
	}
	if output != "" {
		f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names it
		if errors.Is(err, os.ErrExist) {
			return &usageError{fmt.Errorf("%s exists already: name another file, or remove it", output)}
		}
		if err != nil {
			return err
		}
		return errors.Join(export.HTML(f, l, l.Leaf()), f.Close())
	}
	var page strings.Builder
	if err := export.HTML(&page, l, l.Leaf()); err != nil {
		return err
	}
	a.say("%s", a.forStdout(page.String()))
	return nil
}

func (a *app) removeSessions(which []string) error {
	if len(which) == 0 {
		return &usageError{errors.New("sessions rm needs the ids of sessions; piremote sessions list shows them")}
	}
	var paths []string
	for _, one := range which { // all or none are found
		path, err := a.findSession(one)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		if err := store.Remove(path); err != nil {
			return err
		}
		a.say("removed %s\n", a.forStdout(path))
	}
	return nil
}
