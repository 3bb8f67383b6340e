//go:build linux

package posix

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/tools/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func scriptNames(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(scripts, "sh/*.sh")
	must(t, err)
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "sh/"), ".sh"))
	}
	return names
}

func TestSSHX06ArgvSurvivesSingleQuotesOfAnyShell(t *testing.T) {
	e := &Engine{core: &core{shell: "/bin/sh"}}
	for _, name := range scriptNames(t) {
		text := e.argv(name)[2]
		for _, bad := range []string{"'", "\n", "!", `\\`, "\r", "\t\t"} {
			if strings.Contains(text, bad) {
				i := strings.Index(text, bad)
				t.Errorf("%s holds %q: %s", name, bad, text[max(0, i-40):min(len(text), i+10)])
			}
		}
		if len(text) > 16<<10 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		for _, tg := range targets(t) {
			args := append(append([]string{}, tg.argv[1:]...), "-n", "-c", text)
			if out, err := exec.CommandContext(t.Context(), tg.argv[0], args...).CombinedOutput(); err != nil {
				t.Errorf("%s in %s: %v %s", name, tg.name, err, out)
			}
		}
	}
}

func TestSSHX06LoginShells(t *testing.T) {
	for _, shell := range []string{"fish", "tcsh", "bash", "dash"} {
		p, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		dir := t.TempDir()
		e, err := New(t.Context(), Options{Runner: loginRunner{p}, Dir: dir, Root: dir, Label: shell})
		if err != nil {
			t.Errorf("%s: %v", shell, err)
			continue
		}
		var out strings.Builder
		exit, err := e.Exec(t.Context(), ops.Command{Script: "export A=1; echo \"${A:-2}\"'!'", Dir: dir}, func(c ops.Chunk) { out.Write(c.Data) })
		if err != nil || exit.Code != 0 || out.String() != "1!\n" {
			t.Errorf("%s: %q %+v %v", shell, out.String(), exit, err)
		}
		if _, err := e.WriteFile(t.Context(), dir+"/it's", []byte("x")); err != nil {
			t.Errorf("%s: %v", shell, err)
		}
		want := []string{"it's"}
		var got []string
		_, err = e.Glob(t.Context(), ops.GlobRequest{Root: dir, Path: dir, Pattern: "*"}, func(n string) bool { got = append(got, n); return true })
		if err != nil || !slices.Equal(want, got) {
			t.Errorf("%s: %q %v", shell, got, err)
		}
	}
}

// loginRunner gives a login shell one command line, as sshd does.
type loginRunner struct{ shell string }

// Run implements Runner.
func (r loginRunner) Run(ctx context.Context, p Process) (Status, error) {
	line := "exec " + p.Argv[0] + " " + p.Argv[1] + " '" + p.Argv[2] + "'"
	local := &localRunner{argv: []string{r.shell}, env: []string{"PATH=/usr/bin:/bin", "HOME=/nowhere"}}
	p.Argv = []string{r.shell, "-c", line}
	return local.Run(ctx, p)
}

func TestBASH03QuoteInRealShells(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	for _, tg := range targets(t) {
		var words, oracle []string
		for range 300 {
			b := make([]byte, rnd.IntN(12))
			for i := range b {
				if b[i] = byte(1 + rnd.IntN(255)); rnd.IntN(2) == 0 {
					b[i] = "'\"\\$`!\n\r *~#&;()<>|{}[]?=-"[rnd.IntN(26)]
				}
			}
			words, oracle = append(words, Quote(string(b))), append(oracle, string(b))
		}
		cmd := exec.CommandContext(t.Context(), tg.argv[0], append(tg.argv[1:], "-s")...)
		cmd.Env = append(tg.env, "LC_ALL=C")
		cmd.Stdin = strings.NewReader("printf '%s\\0' " + strings.Join(words, " ") + "\n")
		out, err := cmd.Output()
		must(t, err)
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, oracle) {
			t.Errorf("%s: %q, want %q", tg.name, got, oracle)
		}
	}
}

func TestSSHX12ScriptsHoldNoCarriageReturn(t *testing.T) {
	for _, name := range scriptNames(t) {
		if strings.Contains(source(name), "\r") {
			t.Errorf("%s.sh holds 0x0D", name)
		}
	}
}
