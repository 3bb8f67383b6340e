package local

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// running counts the processes whose command line holds the text, the asking one
// aside.
func running(t *testing.T, e engine, text string) string {
	t.Helper()
	half := len(text) / 2 // the question must not find itself
	script := fmt.Sprintf("@(Get-CimInstance Win32_Process | Where-Object { $_.CommandLine -like ('*%s'+'%s*') }).Count", text[:half], text[half:])
	_, out, err := run(t, t.Context(), e, ops.Command{Script: script, Shell: ops.Shell{Kind: ops.ShellPowerShell}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// TestWIN01JobEndsDetachedLeaves starts a process that is no child of the shell
// any more when the shell ends.
func TestWIN01JobEndsDetachedLeaves(t *testing.T) {
	_, e, _ := open(t)
	arg := strings.ReplaceAll(unique(), ".", "")[:9]
	const grace = time.Second
	start := time.Now()
	exit, out, err := run(t, t.Context(), e, ops.Command{
		Script:  "Start-Process ping -ArgumentList '-n " + arg + " 127.0.0.1' -NoNewWindow; Write-Output started; Start-Sleep 600",
		Shell:   ops.Shell{Kind: ops.ShellPowerShell},
		Timeout: 10 * time.Second, Grace: grace,
	})
	took := time.Since(start)
	if err != nil || !exit.TimedOut || !strings.Contains(out, "started") || exit.Killed < 2 || len(exit.Survivors) > 0 || exit.Unverified != "" {
		t.Errorf("%q, %+v, %v", out, exit, err)
	}
	if took > 10*time.Second+grace+2*time.Second {
		t.Errorf("took %v", took)
	}
	if n := running(t, e, "-n "+arg); n != "0" {
		t.Errorf("%s processes live", n)
	}
}
