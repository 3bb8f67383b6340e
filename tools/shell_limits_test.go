package tools_test

import (
	"context"
	"testing"

	"github.com/piremote/piremote/tools/ops"
)

// limited is a shell whose commands end in one way.
type limited struct{ exit ops.Exit }

// Exec implements ops.BashOperations.
func (l limited) Exec(context.Context, ops.Command, func(ops.Chunk)) (ops.Exit, error) {
	return l.exit, nil
}

// A command that ran into a limit of its container failed, whatever its exit code is.
func TestLimitsAreErrors(t *testing.T) {
	for want, exit := range map[string]ops.Exit{
		"(no output)\n\nCommand exited with code 137 (signal KILL); out of memory": {Code: 137, Signal: "KILL", Limits: []string{"out of memory"}},
		"(no output)\n\nCommand exited with code 2; no further process; and more":  {Code: 2, Limits: []string{"no further process", "and more"}},
		"(no output)\n\nCommand exited with code 0; no further process":            {Limits: []string{"no further process"}},
	} {
		b := newBench(t)
		set := b.memory.Set()
		set.Bash = limited{exit}
		b.x = executor(t, set)
		if got, ok := b.do("bash", args{"command": "x"}); ok || got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
