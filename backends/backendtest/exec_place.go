package backendtest

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

func placeChecks() []Check {
	return []Check{
		{Name: "ExecDir", Rule: "a command runs in its folder (SSHX-07)", Exec: true, Run: execDir},
		{Name: "ExecMissingDir", Rule: "if the folder does not exist nothing runs, and it is an error (BASH-03)", Exec: true, Run: execMissingDir},
		{Name: "ExecEnv", Rule: "environment values arrive byte for byte (SSHX-14)", Exec: true, Run: execEnv},
	}
}

func execDir(ctx context.Context, w *Workspace) error {
	if err := w.Fixture.Mkdir(w.at("deep", "er"), 0o755); err != nil {
		return err
	}
	if _, err := w.run(ctx, "touch here", inDir(w.at("deep", "er"))); err != nil {
		return err
	}
	_, err := w.Fixture.Lstat(w.at("deep", "er", "here"))
	return err
}

func execMissingDir(ctx context.Context, w *Workspace) error {
	_, err := w.exec(ctx, "touch '"+w.at("ran")+"'", inDir(w.at("missing")))
	return first(fileError("a missing folder", err, fs.ErrNotExist), absent(w.Fixture, w.at("ran")))
}

func execEnv(ctx context.Context, w *Workspace) error {
	env := map[string]string{
		"PLAIN": "value", "SPACES": "  two  words  ", "LINES": "one\ntwo\n\nthree\n", "QUOTES": `it's "quoted" \ ` + "`x`", "DOLLAR": "$HOME $(touch pwned) ${x}",
		"EMPTY": "", "EQUALS": "a=b=c", "BYTES": "\xff\xfe\t\r", "_under9": "ü",
	}
	for name, value := range env {
		err := w.prints(ctx, fmt.Sprintf(`printf '%%s|%%s' "${%s+set}" "$%s"`, name, name), "set|"+value, func(c *ops.Command) { c.Env = env })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return absent(w.Fixture, w.at("pwned"))
}
