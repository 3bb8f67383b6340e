//go:build unix

package local

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// What the text around a script must do can be read, if not run, everywhere.
func TestWIN02WIN04TextAroundAScript(t *testing.T) {
	for _, want := range []string{
		"$OutputEncoding=", "[Console]::OutputEncoding=", "[Console]::InputEncoding=", "UTF8Encoding $false", // no mark at the start
		"$ProgressPreference='SilentlyContinue'", "OutputRendering='PlainText'",
	} {
		if !strings.Contains(psBefore, want) {
			t.Errorf("%s is not there", want)
		}
	}
}

func TestWIN05CommandLineStaysShort(t *testing.T) {
	const windowsLimit = 32767
	_, e, _ := open(t)
	w := e.ws
	shell := filepath.Join(t.TempDir(), "pwsh")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, maxEncoded - 1, maxEncoded, maxEncoded + 1, 12 << 10, 40 << 10, 1 << 20} {
		l := &launch{id: "x" + strconv.Itoa(size)}
		script := strings.Repeat("\xff", size)
		if err := w.powerShell(l, ops.Command{Script: script, Shell: ops.Shell{Path: shell}}); err != nil {
			t.Fatal(err)
		}
		length := len(l.shell)
		for _, a := range l.args {
			length += len(a) + 3 // a blank and two quotes
		}
		if length >= windowsLimit {
			t.Errorf("a script of %d bytes makes a command line of %d", size, length)
		}
		if (l.temp != nil) != (size > maxEncoded) {
			t.Errorf("a script of %d bytes goes by file: %v", size, l.temp != nil)
		}
		l.close()
	}
}

func TestWIN05TooLongToStartIsNoExitCode(t *testing.T) {
	for _, m := range modes() {
		if m.supervised && runtime.GOOS != "linux" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			exit, out, err := run(t, t.Context(), e, ops.Command{Script: "echo ran", Env: map[string]string{"BIG": strings.Repeat("x", 256<<10)}})
			if err == nil || exit.Code != 0 || out != "" || !strings.Contains(err.Error(), " bytes: ") {
				t.Errorf("%q, %+v, %v", out, exit, err)
			}
			if _, out, err := run(t, t.Context(), e, ops.Command{Script: "echo ok"}); err != nil || out != "ok\n" {
				t.Errorf("afterwards: %q, %v", out, err)
			}
		})
	}
}
