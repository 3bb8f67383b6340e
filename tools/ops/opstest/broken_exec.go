package opstest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

type execFunc func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error)

func execs(check, fault string, broken func(m *Memory, next operations) execFunc) Breach {
	return alter(check, fault, func(m *Memory, next operations, a *altered) { a.exec = broken(m, next) })
}

// commands makes a breach that changes commands before they run.
func commands(check, fault string, change func(m *Memory, cmd *ops.Command)) Breach {
	return execs(check, fault, func(m *Memory, next operations) execFunc {
		return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
			change(m, &cmd)
			return next.Exec(ctx, cmd, output)
		}
	})
}

// chunks makes a breach that changes output.
func chunks(check, fault string, change func(data []byte) []byte) Breach {
	return execs(check, fault, func(_ *Memory, next operations) execFunc {
		return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
			return next.Exec(ctx, cmd, func(c ops.Chunk) {
				c.Data = change(c.Data)
				output(c)
			})
		}
	})
}

func brokenExecs() []Breach {
	return []Breach{
		chunks("ExecOutput", "NUL bytes are dropped", func(data []byte) []byte { return bytes.ReplaceAll(data, []byte{0}, nil) }),
		commands("ExecStderr", "the stderr of a command without redirection of its own is not drained", func(_ *Memory, cmd *ops.Command) {
			if strings.Contains(cmd.Script, " >&2") {
				cmd.Script = "{ " + cmd.Script + "\n} 2>/dev/null"
			}
		}),
		execs("ExecOrder", "stderr comes at the end", stderrLast),
		execs("ExecCount", "what the client is behind with is dropped in silence", func(_ *Memory, next operations) execFunc {
			return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
				n := 0
				return next.Exec(ctx, cmd, func(c ops.Chunk) {
					if n += len(c.Data); n < 1<<20 {
						output(c)
					}
				})
			}
		}),
		execs("ExecLargeScript", "the script is an argument, which has a limit", func(_ *Memory, next operations) execFunc {
			return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
				if len(cmd.Script) > 128<<10 {
					return ops.Exit{Code: 126}, nil
				}
				return next.Exec(ctx, cmd, output)
			}
		}),
		commands("ExecCRLF", "line ends of the script are made those of Unix", func(_ *Memory, cmd *ops.Command) {
			cmd.Script = strings.ReplaceAll(cmd.Script, "\r\n", "\n")
		}),
		execs("ExecParallel", "more than ten channels at once are refused", func(_ *Memory, next operations) execFunc {
			var open atomic.Int32
			return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
				defer open.Add(-1)
				if open.Add(1) > 10 {
					return ops.Exit{}, &ops.TransportError{Kind: ops.KindUnavailable, Target: "memory", Msg: "open failed"}
				}
				return next.Exec(ctx, cmd, output)
			}
		}),
		commands("ExecNoStdin", "commands inherit the stdin of the server", func(_ *Memory, cmd *ops.Command) {
			if strings.Contains(cmd.Script, "read line") {
				cmd.Script = "echo inherited | { " + cmd.Script + "\n}"
			}
		}),
		commands("ExecDir", "a folder below another is left for that", func(m *Memory, cmd *ops.Command) {
			if above := path.Dir(cmd.Dir); above != m.options.Dir && strings.HasPrefix(above, m.options.Dir+"/") {
				cmd.Dir = above
			}
		}),
		execs("ExecMissingDir", "a missing folder leaves the command in the workspace's", func(m *Memory, next operations) execFunc {
			return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
				exit, err := next.Exec(ctx, cmd, output)
				if errors.Is(err, fs.ErrNotExist) {
					cmd.Dir = m.options.Dir
					return next.Exec(ctx, cmd, output)
				}
				return exit, err
			}
		}),
		commands("ExecEnv", "values end at a line feed", func(_ *Memory, cmd *ops.Command) {
			cmd.Env = maps.Clone(cmd.Env)
			for name, value := range cmd.Env {
				cmd.Env[name], _, _ = strings.Cut(value, "\n")
			}
		}),
		commands("NamesEntered", "white space around the folder is cut", func(_ *Memory, cmd *ops.Command) { cmd.Dir = strings.TrimSpace(cmd.Dir) }),
		execs("CancelledExec", "a cancelled command runs", func(_ *Memory, next operations) execFunc {
			return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
				if err := ctx.Err(); err != nil {
					exit, _ := next.Exec(context.WithoutCancel(ctx), cmd, output) // the caller gets the context's
					return exit, err
				}
				return next.Exec(ctx, cmd, output)
			}
		}),
		execs("NothingAfterReturn", "late output is still delivered", func(_ *Memory, next operations) execFunc {
			return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
				exit, err := next.Exec(ctx, cmd, output)
				if strings.Contains(cmd.Script, "&") {
					time.AfterFunc(20*time.Millisecond, func() { output(ops.Chunk{Data: []byte("late\n")}) })
				}
				return exit, err
			}
		}),
	}
}

// stderrLast holds back what the script of ExecOrder writes to stderr.
func stderrLast(_ *Memory, next operations) execFunc {
	return func(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
		if !strings.Contains(cmd.Script, "1>&2") {
			return next.Exec(ctx, cmd, output)
		}
		var late [][]byte
		exit, err := next.Exec(ctx, cmd, func(c ops.Chunk) {
			if bytes.HasPrefix(c.Data, []byte("e")) {
				late = append(late, bytes.Clone(c.Data))
				return
			}
			output(c)
		})
		for _, data := range late {
			output(ops.Chunk{Data: data})
		}
		return exit, err
	}
}
