//go:build unix

package local

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/piremote/piremote/tools/ops"
)

// decodeCommand is the inverse of encodeCommand.
func decodeCommand(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%2 != 0 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}

// The interpreter is a program that prints its arguments and the file that they
// name: what PowerShell itself makes of them is not looked at here.
func TestWIN03ScriptReachesPowerShellUnchanged(t *testing.T) {
	bin := t.TempDir()
	fake := `#!/bin/sh
for a; do last=$a; done
printf '%s\n' "$*"
find "$SPILL" -name 'script-*' -exec cat {} +
`
	if err := os.WriteFile(filepath.Join(bin, "pwsh"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	spill := t.TempDir()
	_, e, _ := open(t, func(o *Options) {
		o.Env = append(os.Environ(), "PATH="+bin+":"+defaultPath, "SPILL="+spill)
		o.SpillDir = spill
	})
	shell := ops.Shell{Kind: ops.ShellPowerShell}
	for _, script := range []string{`Write-Output "a'b" $x` + "`n\n" + `é “quoted” # comment`, strings.Repeat("Write-Output 'é'\n", 5000)} {
		exit, out, err := run(t, t.Context(), e, ops.Command{Script: script, Shell: shell})
		if err != nil || exit.Shell != filepath.Join(bin, "pwsh") {
			t.Fatalf("%+v, %v", exit, err)
		}
		args, file, _ := strings.Cut(out, "\n")
		options, encoded, ok := strings.Cut(args, " -EncodedCommand ")
		if !ok || options != "-NoLogo -NoProfile -NonInteractive -OutputFormat Text" || len(args) > 32000 {
			t.Fatalf("arguments: %.200s", args)
		}
		text := decodeCommand(t, encoded)
		if !strings.HasPrefix(text, psBefore) || !strings.HasSuffix(text, psAfter) {
			t.Errorf("text: %s", text)
		}
		inline := base64.StdEncoding.EncodeToString([]byte(script))
		if !strings.Contains(text, inline) && file != script {
			t.Errorf("the script got lost: %.300s", text)
		}
	}
	if left, err := filepath.Glob(filepath.Join(spill, "*", "script-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	_, none, _ := open(t, func(o *Options) { o.Env = []string{"PATH=" + t.TempDir()} })
	if _, _, err := run(t, t.Context(), none, ops.Command{Shell: shell}); ops.KindOf(err) != ops.KindNoShell || !strings.Contains(err.Error(), "pwsh or powershell") {
		t.Errorf("without PowerShell: %v", err)
	}
}
