package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/agent/call"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a policy that looks at the text lets through.
func TestLOOP08CommandsAreParsed(t *testing.T) {
	names := []string{"ls", "find", "cat", "sort"}
	for _, script := range []string{
		"ls\nid", "ls; id", "ls && id", "ls || id", "ls | id", "ls & id", "find . -exec id {} +", "find . -'exec' id {} +", `find . -e\xec id {} +`,
		"find . -delete", "find . -fprint x", "ls $(id)", "ls `id`", `ls "$(id)"`, "ls $HOME", "FOO=1 id", "FOO=1 ls", "rm -r -f x", "rm -rf x # ls",
		"echo ok # ls", "ls > x", "cat < x", "cat <(id)", "(id)", "{ id; }", "if ls; then id; fi", "while ls; do id; done", "ls() { id; }; ls",
		"eval ls", "sh -c ls", "sudo ls", "env ls", "xargs ls", "command ls", "/bin/ls", `find . \-delete`, `$'ls'`, "ls '", "", "#ls", "! id", "cat <<x\n$(id)\nx", "ls $((1))",
		"coproc ls", "time id", "[[ -e x ]]", "((1))", "declare x=1", "let x=1", "case x in x) id;; esac", "ls ${x:=y}", "ls a'b'$(id)",
	} {
		if judge(script, names) == "" {
			t.Errorf("%q is let through", script)
		}
	}
	for _, script := range []string{"ls", "ls -la 'a b' \"c d\"", "ls\nls", "find . -name '*.go' | sort", "ls && cat a || cat b; ls", "cat a # b"} {
		if reason := judge(script, names); reason != "" {
			t.Errorf("%q: %s", script, reason)
		}
	}
}

func TestHookBlocksWhatItCanNotRead(t *testing.T) {
	hook := onlyCommands("ls")
	if _, err := hook(t.Context(), call.Request{Name: "bash", Args: json.RawMessage(`{"command":7}`)}); err == nil {
		t.Error("no error")
	}
	if d, err := hook(t.Context(), call.Request{Name: "unheard of"}); err != nil || !d.Block {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the session runs a POSIX shell")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	if want := "bash denied=false\nbash denied=true\nwrite denied=true\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
