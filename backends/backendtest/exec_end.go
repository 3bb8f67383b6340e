package backendtest

import (
	"context"
	"fmt"
	"time"
)

func endChecks() []Check {
	return []Check{
		{Name: "ExecExitCodes", Rule: "a command that ran is an Exit with its code, and no error (SSHX-04)", Exec: true, Run: execExitCodes},
		{Name: "ExecSignal", Rule: "a command ended by signal n has code 128+n and the signal's name (SSHX-04)", Exec: true, Run: execSignal},
		{Name: "ExecSyntaxError", Rule: "a script that the shell refuses is an Exit, no error", Exec: true, Run: execSyntaxError},
		{Name: "ExecNoStdin", Rule: "stdin is empty (BASH-04)", Exec: true, Run: execNoStdin},
		{Name: "ExecShellNamed", Rule: "the exit names the interpreter that ran", Exec: true, Run: execShellNamed},
	}
}

func execExitCodes(ctx context.Context, w *Workspace) error {
	for _, code := range []int{0, 1, 7, 126, 127, 255} {
		r, err := w.exec(ctx, fmt.Sprintf("echo x; exit %d", code))
		if err := first(err, same("the code", r.Code, code), same("the signal", r.Signal, ""), same("TimedOut", r.TimedOut, false)); err != nil {
			return fmt.Errorf("exit %d: %w", code, err)
		}
	}
	return nil
}

func execSignal(ctx context.Context, w *Workspace) error {
	r, err := w.exec(ctx, "echo before; kill -9 $$; echo after")
	return first(err, same("the code", r.Code, 137), same("the signal", r.Signal, "KILL"), sameBytes("output", r.output, []byte("before\n")))
}

func execSyntaxError(ctx context.Context, w *Workspace) error {
	r, err := w.exec(ctx, "if")
	if err != nil {
		return err
	}
	if r.Code == 0 {
		return fmt.Errorf("the code is 0")
	}
	return nil
}

func execNoStdin(ctx context.Context, w *Workspace) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return w.prints(ctx, "cat; read line; echo \"got <$line>\"", "got <>\n")
}

func execShellNamed(ctx context.Context, w *Workspace) error {
	r, err := w.run(ctx, "exit 0")
	if err == nil && (r.Shell == "" || r.Shell[0] != '/') {
		err = fmt.Errorf("the shell is %q, want an absolute path", r.Shell)
	}
	return err
}
