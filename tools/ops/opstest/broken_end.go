package opstest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// exits makes a breach that changes how commands end.
func exits(check, fault string, change func(m *Memory, cmd ops.Command, exit *ops.Exit) error) Breach {
	return execs(check, fault, func(m *Memory, next operations) execFunc {
		return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
			exit, err := next.Exec(ctx, cmd, output)
			if err == nil {
				err = change(m, cmd, &exit)
			}
			return exit, err
		}
	})
}

func brokenEnds() []Breach {
	return []Breach{
		exits("ExecExitCodes", "255 means that the link failed", func(_ *Memory, _ ops.Command, exit *ops.Exit) error {
			if exit.Code == 255 {
				return &ops.TransportError{Kind: ops.KindNoStatus, Target: "memory", Msg: "no exit status"}
			}
			return nil
		}),
		exits("ExecSignal", "the signal's name is lost", func(_ *Memory, _ ops.Command, exit *ops.Exit) error {
			exit.Signal = ""
			return nil
		}),
		exits("ExecSyntaxError", "a refused script is an error of the call", func(_ *Memory, _ ops.Command, exit *ops.Exit) error {
			if exit.Code == 2 {
				return fmt.Errorf("syntax error")
			}
			return nil
		}),
		exits("ExecShellNamed", "the shell is not named", func(_ *Memory, _ ops.Command, exit *ops.Exit) error {
			exit.Shell = ""
			return nil
		}),
		exits("BackgroundReturns", "leftovers are not told", func(_ *Memory, _ ops.Command, exit *ops.Exit) error {
			exit.Background = false
			return nil
		}),
		commands("BackgroundKill", "leftovers are never killed", func(_ *Memory, cmd *ops.Command) { cmd.Background = ops.BackgroundSession }),
		commands("BackgroundSession", "leftovers outlive the workspace", func(_ *Memory, cmd *ops.Command) {
			if cmd.Background != ops.BackgroundKill {
				cmd.Background = ops.BackgroundKeep
			}
		}),
		exits("TimeoutReported", "a timeout looks like an exit", func(_ *Memory, _ ops.Command, exit *ops.Exit) error {
			exit.TimedOut = false
			return nil
		}),
		abandons("TimeoutEndsTree", "a timeout leaves the processes", true, func(cmd ops.Command) bool {
			return strings.Contains(cmd.Script, "&") && !strings.Contains(cmd.Script, "setsid")
		}),
		abandons("TimeoutEndsEscaped", "a timeout leaves what has a session of its own", true, func(cmd ops.Command) bool {
			return strings.Contains(cmd.Script, "setsid")
		}),
		abandons("AbortEndsTree", "an abort leaves the processes", false, func(ops.Command) bool { return true }),
		exits("SpillKeepsAll", "the spill file lacks what came last", func(m *Memory, cmd ops.Command, exit *ops.Exit) error {
			if exit.SpillPath == "" || exit.SpillCut {
				return nil
			}
			data, err := m.GetFile(exit.SpillPath)
			if err != nil {
				return err
			}
			return m.PutFile(exit.SpillPath, data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1], 0o600)
		}),
		alter("SpillReplaced", "a spill file is found by its name alone", func(m *Memory, next operations, a *altered) {
			a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
				m.mu.Lock()
				spilled := m.spills[p]
				m.mu.Unlock()
				if spilled {
					return view{m, ""}.ReadFile(ctx, p, limit)
				}
				return next.ReadFile(ctx, p, limit)
			}
		}),
		commands("SpillLimit", "the limit is ignored", func(_ *Memory, cmd *ops.Command) { cmd.SpillLimit = 0 }),
		exits("SpillNotForLittle", "every output is spilled", func(m *Memory, cmd ops.Command, exit *ops.Exit) error {
			if !cmd.Spill || exit.SpillPath != "" {
				return nil
			}
			exit.SpillPath = "/tmp/little"
			return m.PutFile(exit.SpillPath, nil, 0o600)
		}),
	}
}

// abandons makes a breach that returns at the end of some commands' time, or of
// the context, while they run on.
func abandons(check, fault string, atTimeout bool, which func(ops.Command) bool) Breach {
	return execs(check, fault, func(_ *Memory, next operations) execFunc {
		return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
			if !which(cmd) || atTimeout != (cmd.Timeout > 0) {
				return next.Exec(ctx, cmd, output)
			}
			type end struct {
				exit ops.Exit
				err  error
			}
			ended := make(chan end, 1)
			patience := cmd.Timeout
			cmd.Timeout = 0
			out := newSink(nil, ops.Command{}, output)
			go func() {
				exit, err := next.Exec(context.WithoutCancel(ctx), cmd, func(c ops.Chunk) { _, _ = out.Write(c.Data) })
				ended <- end{exit, err}
			}()
			var timeout <-chan time.Time
			if patience > 0 {
				timer := time.NewTimer(patience)
				defer timer.Stop()
				timeout = timer.C
			}
			defer out.close()
			select {
			case e := <-ended:
				return e.exit, e.err
			case <-timeout:
				return ops.Exit{Shell: "/bin/bash", TimedOut: true}, nil
			case <-ctx.Done():
				return ops.Exit{}, context.Cause(ctx)
			}
		}
	})
}
