package backendtest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/piremote/piremote/tools/ops"
)

func outputChecks() []Check {
	return []Check{
		{Name: "ExecOutput", Rule: "output is delivered byte for byte (SSHX-02, SSHX-11)", Exec: true, Run: execOutput},
		{Name: "ExecStderr", Rule: "stderr is delivered with stdout", Exec: true, Run: execStderr},
		{Name: "ExecOrder", Rule: "bytes of stdout and stderr come in arrival order", Exec: true, Run: execOrder},
		{Name: "ExecCount", Rule: "every byte and line of a large output is delivered or counted as dropped (TRUN-01)", Exec: true, Run: execCount},
		{Name: "ExecLargeScript", Rule: "the script travels as data, up to megabytes", Exec: true, Run: execLargeScript},
		{Name: "ExecCRLF", Rule: "the script is byte-exact, carriage returns included (SSHX-12)", Exec: true, Run: execCRLF},
		{Name: "ExecParallel", Rule: "every operation may be called concurrently (SSHX-05)", Exec: true, Run: execParallel},
	}
}

func execOutput(ctx context.Context, w *Workspace) error {
	return first(
		w.prints(ctx, `printf 'a\000b\377\376\r\nend'`, "a\x00b\xff\xfe\r\nend"),
		w.prints(ctx, "true", ""),
		w.prints(ctx, `echo "it's"`, "it's\n"),
		w.prints(ctx, "seq 3", "1\n2\n3\n"),
	)
}

func execStderr(ctx context.Context, w *Workspace) error {
	return w.prints(ctx, "echo out; echo err >&2", "out\nerr\n")
}

func execOrder(ctx context.Context, w *Workspace) error {
	script, want := "", ""
	for i := range 40 {
		script += fmt.Sprintf("echo o%d; { echo e%d; } 1>&2\n", i, i)
		want += fmt.Sprintf("o%d\ne%d\n", i, i)
	}
	return w.prints(ctx, script, want)
}

func execCount(ctx context.Context, w *Workspace) error {
	const size = 4_000_000
	r, err := w.run(ctx, fmt.Sprintf("yes 0123456789abcde | head -c %d", size))
	return first(err, same("the number of bytes", r.count, size), same("the number of lines", r.lines, size/16))
}

func execLargeScript(ctx context.Context, w *Workspace) error {
	text := strings.Repeat("0123456789 \"$x` \\\n", 12_000)
	return w.prints(ctx, "printf '%s' '"+text+"'", text)
}

func execCRLF(ctx context.Context, w *Workspace) error {
	return w.prints(ctx, "printf '%s' 'one\r\ntwo\r\n'", "one\r\ntwo\r\n")
}

func execParallel(ctx context.Context, w *Workspace) error {
	errs := make([]error, 12)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			env := func(c *ops.Command) { c.Env = map[string]string{"N": fmt.Sprint(i)} }
			errs[i] = w.prints(ctx, `sleep 0.2; echo "$N"; seq 500 | head -c 100 >/dev/null; exit 0`, fmt.Sprintf("%d\n", i), env)
		})
	}
	group.Wait()
	return first(errs...)
}
