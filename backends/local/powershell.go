package local

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/piremote/piremote/tools/ops"
)

// maxEncoded is the longest script that travels on PowerShell's command line:
// Windows allows 32,767 characters in all, and the encodings make seven of two
// bytes (hazard WIN-05).
const maxEncoded = 7 << 10

// The text around a script: no progress records, UTF-8 in and out, and an exit
// code that is that of a failed native command, or 1 when the last statement
// failed otherwise (hazards WIN-02 to WIN-04). The script is compiled from a
// string, so that param and using may be its first statements, and quoting can't
// break it.
const (
	psBefore = `$ProgressPreference='SilentlyContinue'
try{$OutputEncoding=[Console]::InputEncoding=[Console]::OutputEncoding=New-Object Text.UTF8Encoding $false}catch{}
if($PSStyle){$PSStyle.OutputRendering='PlainText'}
$global:PiremoteOK=$true
. ([ScriptBlock]::Create(`
	psAfter = "+\"`n`$global:PiremoteOK=`$?\"))\n" +
		"if(-not $global:PiremoteOK){if($LASTEXITCODE){exit $LASTEXITCODE};exit 1}\nexit 0"
	psInline = `[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('%s'))`
	psFile   = `[IO.File]::ReadAllText('%s')`
)

// powerShell passes the script so that no quoting can touch it.
func (w *Workspace) powerShell(l *launch, cmd ops.Command) (err error) {
	if l.shell, err = w.findShell(cmd.Shell.Path, "pwsh", "powershell"); err != nil {
		return err
	}
	text := fmt.Sprintf(psInline, base64.StdEncoding.EncodeToString([]byte(cmd.Script)))
	if len(cmd.Script) > maxEncoded {
		f, path, err := w.spills.create("script-" + l.id + ".ps1")
		if err != nil {
			return plain{fmt.Errorf("pass the script to %s: %w", l.shell, bare(err))}
		}
		l.temp = func() { w.spills.remove(path) }
		_, err = f.WriteString(cmd.Script)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return plain{fmt.Errorf("pass the script to %s: %w", l.shell, bare(err))}
		}
		text = fmt.Sprintf(psFile, escapeSingle(path))
	}
	l.args = []string{
		"-NoLogo", "-NoProfile", "-NonInteractive", "-OutputFormat", "Text",
		"-EncodedCommand", encodeCommand(psBefore + text + psAfter),
	}
	return nil
}

// escapeSingle doubles the quotes of a PowerShell literal.
func escapeSingle(s string) string {
	var out []rune
	for _, r := range s {
		switch r {
		case '\'', '\u2018', '\u2019', '\u201a', '\u201b': // PowerShell takes all of these for a quote
			out = append(out, r)
		}
		out = append(out, r)
	}
	return string(out)
}

// encodeCommand is Base64 of UTF-16, as -EncodedCommand wants it.
func encodeCommand(script string) string {
	units := utf16.Encode([]rune(script))
	raw := make([]byte, 0, 2*len(units))
	for _, u := range units {
		raw = binary.LittleEndian.AppendUint16(raw, u)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
