//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// Each fault is one sentence on stderr that names the thing, nothing on stdout,
// and the exit code of its kind.
func TestFaults(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	good := sshTarget(t, s)
	d := servers.StartDockerd(t)
	dockerEnv := []string{"DOCKER_HOST=" + d.Host}
	empty := t.TempDir()
	foreign := servers.StartSSHD(t, servers.SSHDOptions{})
	mixed := t.TempDir() // knows the host, has a key that it does not admit
	if err := os.MkdirAll(filepath.Join(mixed, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(s.Home, ".ssh/known_hosts"), filepath.Join(mixed, ".ssh/known_hosts"))
	copyFile(t, filepath.Join(foreign.Home, ".ssh/id_ed25519"), filepath.Join(mixed, ".ssh/id_ed25519"))
	badConfig := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(badConfig, []byte("model: x/y\nshell:\n  timeout: 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := []string{"tool", "read", "path=a.txt"}
	for _, c := range []struct {
		name string
		env  []string
		args []string
		code int
		want string
	}{
		{"unknown host key", []string{"HOME=" + empty}, append([]string{"-w", good.address}, read...), 4, "host key"},
		{"rejected key", []string{"HOME=" + mixed}, append([]string{"-w", good.address}, read...), 4, s.Address()},
		{"refused port", []string{"HOME=" + empty}, append([]string{"-w", "ssh://127.0.0.1:1/x"}, read...), 5, "127.0.0.1:1"},
		{"missing root folder over ssh", good.env, append([]string{"-w", good.address + "/nope"}, read...), 5, "/nope"},
		{"missing local folder", nil, append([]string{"-w", "/does/not/exist"}, read...), 5, "/does/not/exist"},
		{"missing container", dockerEnv, append([]string{"-w", "docker://no-such-container/ws"}, read...), 5, "no-such-container"},
		{"no daemon", []string{"DOCKER_HOST=unix:///does/not/exist.sock"}, append([]string{"-w", "docker://x"}, read...), 5, "/does/not/exist.sock"},
		{"unknown workspace", nil, append([]string{"-w", "staging"}, read...), 2, "staging"},
		{"unknown tool", nil, []string{"tool", "nope"}, 2, "nope"},
		{"bad arguments", nil, []string{"tool", "read", "path"}, 2, "key=value"},
		{"bad flag", nil, []string{"--nope"}, 2, "--nope"},
		{"bad configuration", nil, []string{"--config", badConfig, "tool", "ls"}, 3, badConfig + ":3: shell.timeout"},
		{"missing file", nil, append([]string{"-w", empty}, read...), 1, "a.txt"},
		{"remote only", nil, append([]string{"-w", empty, "--remote-only"}, read...), 2, "--remote-only"},
		{"no model", nil, []string{"-w", empty, "-p", "hello"}, 2, "--model"},
		{"no prompt", nil, []string{"-w", empty, "-p"}, 2, "prompt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.env, c.args...)
			if r.code != c.code || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
				t.Errorf("exit code %d, want %d; stdout %q, stderr %q, want %q", r.code, c.code, r.stdout, r.stderr, c.want)
			}
			if strings.Count(strings.TrimSpace(r.stderr), "\n") > 0 && c.name != "missing file" {
				t.Errorf("more than one line: %s", r.stderr)
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTry(t *testing.T) {
	r := run(t, nil, "try")
	if r.code != 0 || !strings.Contains(r.stdout, "The test failed before and passes now.") || !strings.HasPrefix(r.stdout, "Seed ") {
		t.Errorf("%+v", r)
	}
	other := run(t, nil, "try", "--seed", "1", "--backend", "local")
	if other.code != 0 {
		t.Errorf("%+v", other)
	}
	r = run(t, nil, "try", "--exclude-tools", "edit")
	if r.code != 1 || !strings.Contains(r.stderr, "not mended") {
		t.Errorf("without edit: %+v", r)
	}
	x := dockerTarget(t)
	if r := x.on(t, "try", "--backend", "docker"); r.code != 0 {
		t.Errorf("docker: %+v", r)
	}
}

func TestDoctor(t *testing.T) {
	for _, x := range targets(t) {
		r := x.on(t, "doctor")
		if r.code != 0 || strings.Contains(r.stdout, "FAIL") || !strings.Contains(r.stdout, "shell") {
			t.Errorf("%s: %+v", x.name, r)
		}
	}
	if r := run(t, nil, "-w", "ssh://127.0.0.1:1/x", "doctor"); r.code != 5 || !strings.Contains(r.stdout, "FAIL  connection") {
		t.Errorf("%+v", r)
	}
}

func TestVersionAndScriptedRun(t *testing.T) {
	if r := run(t, nil, "version"); r.code != 0 || !strings.HasPrefix(r.stdout, "piremote ") {
		t.Errorf("%+v", r)
	}
	script, err := filepath.Abs("../examples/scripted/two-calls")
	if err != nil {
		t.Fatal(err)
	}
	x := localTarget(t)
	put(t, x, "a.txt", "hello\n")
	if r := x.on(t, "-p", "--model", "scripted:"+script, "go"); r.code != 0 || r.stdout != "a.txt says goodbye now.\n" {
		t.Errorf("%+v", r)
	}
	// The file does not say hello any more: the script's expectation fails.
	if r := x.on(t, "-p", "--model", "scripted:"+script, "go"); r.code != 1 || !strings.Contains(r.stderr, "not what is expected") {
		t.Errorf("%+v", r)
	}
}
