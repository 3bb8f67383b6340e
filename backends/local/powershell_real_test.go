package local

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

// powerShell opens a workspace with a real PowerShell, if this machine has one.
func powerShell(t *testing.T) engine {
	t.Helper()
	search := lookup(os.Environ(), "PATH")
	if findProgram(search, "pwsh") == "" && findProgram(search, "powershell") == "" {
		t.Skip("there is no PowerShell on this machine")
	}
	_, e, _ := open(t)
	return e
}

// native is PowerShell for a program that ends with a code.
func native(code int) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("cmd /c exit %d", code)
	}
	return fmt.Sprintf("sh -c 'exit %d'", code)
}

func TestWIN03RealExitCodes(t *testing.T) {
	e := powerShell(t)
	for script, want := range map[string]int{
		native(7):                           7,
		native(0):                           0,
		"throw 'x'":                         1,
		"Write-Error x":                     1, // what is documented: the last statement failed
		"Write-Error x; Write-Output done":  0,
		"exit 3":                            3,
		native(7) + "; Write-Output after":  0,
		"param($a = 5); exit $a":            5,
		"if (":                              1,
		"Get-Item /no/such/thing; exit 0":   0,
		"$global:LASTEXITCODE = 9; throw 1": 1,
	} {
		exit, out, err := run(t, t.Context(), e, ops.Command{Script: script, Shell: ops.Shell{Kind: ops.ShellPowerShell}})
		if err != nil || exit.Code != want {
			t.Errorf("%s: code %d, want %d, %v\n%s", script, exit.Code, want, err, out)
		}
	}
}

func TestWIN02WIN04RealOutputIsCleanUTF8(t *testing.T) {
	e := powerShell(t)
	for script, want := range map[string]string{
		"Write-Output 'ü中®'":                               "ü中®",
		"Write-Progress x; Write-Output ok":                "ok",
		"Write-Output \"a`\"b $(1+1) 'c' `$d\"":            "a\"b 2 'c' $d",
		strings.Repeat("# é\n", 20<<10) + "Write-Host end": "end",
	} {
		_, out, err := run(t, t.Context(), e, ops.Command{Script: script, Shell: ops.Shell{Kind: ops.ShellPowerShell}})
		if err != nil || strings.TrimSpace(out) != want {
			t.Errorf("%.60s: %q, want %q, %v", script, out, want, err)
		}
	}
	_, out, err := run(t, t.Context(), e, ops.Command{Script: "Import-Module Microsoft.PowerShell.Utility; throw 'bööm'", Shell: ops.Shell{Kind: ops.ShellPowerShell}})
	if err != nil || !utf8.ValidString(out) || !strings.Contains(out, "bööm") || strings.Contains(out, "CLIXML") || strings.Contains(out, "\x00") || strings.Contains(out, "\ufeff") {
		t.Errorf("%q, %v", out, err)
	}
}
