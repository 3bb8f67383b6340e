//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// onlyRoot skips what has to mount or to become another account.
func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root")
	}
}

// small puts a file system of one megabyte on a folder of this machine.
func small(t *testing.T, x target) target {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if out, err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", "size=1m", "none", x.host).CombinedOutput(); err != nil {
		servers.Missing(t, "tmpfs", string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(ctx, "umount", "-l", x.host).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return x
}

// A write that does not fit says so in one sentence and leaves the old content
// and nothing else (hazard WRIT-01).
func TestWRIT01FullDisk(t *testing.T) {
	onlyRoot(t)
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{Tmpfs: map[string]string{"/full": "size=1m"}})
	for _, x := range []target{
		small(t, localTarget(t)), small(t, sshTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}))),
		{name: "docker", address: "docker://" + name + "/full", dir: "/full", env: []string{"DOCKER_HOST=" + d.Host}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if r := x.on(t, "tool", "write", "path=a.txt", "content=old"); r.code != 0 {
				t.Fatalf("%+v", r)
			}
			args, err := os.CreateTemp(t.TempDir(), "args")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = args.Close() }()
			if _, err := fmt.Fprintf(args, `{"path":"a.txt","content":%q}`, strings.Repeat("new ", 400_000)); err != nil {
				t.Fatal(err)
			}
			if _, err := args.Seek(0, 0); err != nil {
				t.Fatal(err)
			}
			r := x.fed(t, args, "tool", "write", "-")
			oneSentence(t, r, 1, "a.txt", "no space is left")
			if r := x.on(t, "tool", "read", "path=a.txt"); r.stdout != "old\n" {
				t.Errorf("the file is now %.100q, %s", r.stdout, r.stderr)
			}
			if r := x.on(t, "tool", "bash", "command=ls -A | wc -l"); !strings.HasPrefix(strings.TrimSpace(r.stdout), "1") {
				t.Errorf("in the folder: %q", r.stdout)
			}
		})
	}
}

// An account that may not read a file is told so in one sentence.
func TestUnreadableFileAsAnotherAccount(t *testing.T) {
	onlyRoot(t)
	const nobody = 65534
	folder := func() string { // that the account can reach
		dir, err := os.MkdirTemp("", "piremote-e2e-") //nolint:usetesting // other accounts may not enter t.TempDir
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	s := servers.StartSSHD(t, servers.SSHDOptions{Login: &servers.Login{UID: 65533}})
	d := servers.StartDockerd(t)
	bound, near, far := folder(), folder(), folder()
	name := d.Run(t, servers.ContainerOptions{User: "65534", Binds: []string{bound + ":/ws"}})
	program := filepath.Join(folder(), "piremote")
	copyFile(t, binary, program)
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []target{
		{name: "local", address: near, host: near, env: []string{"HOME=" + near}, program: program, account: nobody},
		{name: "ssh", address: fmt.Sprintf("ssh://%s@%s%s", s.User, s.Address(), far), host: far, env: []string{"HOME=" + s.Home}},
		{name: "docker", address: "docker://" + name + "/ws", host: bound, env: []string{"DOCKER_HOST=" + d.Host}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, args := range [][]string{
				{"read", "path=secret.txt"},
				{"edit", "path=secret.txt", `edits=[{"oldText":"secret","newText":"x"}]`},
				{"write", "path=secret.txt", "content=x"},
			} {
				oneSentence(t, x.on(t, append([]string{"tool"}, args...)...), 1, "secret.txt", "permission denied")
			}
			if data, err := os.ReadFile(filepath.Join(x.host, "secret.txt")); err != nil || string(data) != "secret\n" {
				t.Errorf("the file is now %q, %v", data, err)
			}
		})
	}
}

// oneSentence checks that a call failed with one line on stderr that holds the words.
func oneSentence(t *testing.T, r result, code int, words ...string) {
	t.Helper()
	line := strings.TrimSuffix(r.stderr, "\n")
	if r.code != code || r.stdout != "" || line == "" || strings.Contains(line, "\n") {
		t.Errorf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(line), w) {
			t.Errorf("%q does not say %q", line, w)
		}
	}
}
