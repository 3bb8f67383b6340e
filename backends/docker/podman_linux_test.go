package docker

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// Podman's own way to speak Docker's API: files, output that looks like frames, exit
// codes, the end of a tree, and a container that is stopped, with the helper and
// without.
func TestDKX05Podman(t *testing.T) {
	t.Parallel()
	d := servers.StartPodman(t)
	t.Run("sandbox", func(t *testing.T) {
		t.Parallel()
		podmanSandbox(t, d)
	})
	t.Run("doctor", func(t *testing.T) {
		t.Parallel()
		name := d.Run(t, servers.ContainerOptions{NoInit: true})
		findings, err := Diagnose(t.Context(), Options{Host: d.Host, Container: name, Dir: "/ws"})
		if err != nil || !slices.Contains(findings, Finding{Name: "podman", OK: true, Detail: podmanFinding}) {
			t.Errorf("%+v, %v", findings, err)
		}
	})
	for _, policy := range []helper.Policy{helper.Require, helper.Never} {
		t.Run("helper "+string(policy), func(t *testing.T) {
			t.Parallel()
			name := d.Run(t, servers.ContainerOptions{NoInit: true}) // the init of Podman is another package
			set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)})
			data := bytes.Repeat([]byte("\x00\x01\xff\r\n some bytes"), 100_000)
			if _, err := set.Write.WriteFile(t.Context(), "/ws/f", data); err != nil {
				t.Fatal(err)
			}
			if got, err := set.Read.ReadFile(t.Context(), "/ws/f", 0); err != nil || !bytes.Equal(got, data) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			const frames = `\001\000\000\000\000\000\000\005`
			for range 5 {
				if out, exit, err := output(t.Context(), set, "printf '"+frames+"'; exit 7"); out != "\x01\x00\x00\x00\x00\x00\x00\x05" || exit.Code != 7 || err != nil {
					t.Errorf("%q, %+v, %v", out, exit, err)
				}
			}
			arg := fmt.Sprint(8_000_000 + time.Now().UnixNano()%900_000_000)
			exit, err := set.Bash.Exec(t.Context(), ops.Command{Script: "setsid sleep " + arg + " & sleep " + arg, Timeout: 3 * time.Second, Grace: 200 * time.Millisecond}, nil)
			if left := d.Top(t, name, arg); err != nil || !exit.TimedOut || exit.Killed < 2 || left > 0 {
				t.Errorf("%+v, %v; %d are left", exit, err, left)
			}
			d.Stop(t, name)
			if _, _, err := output(t.Context(), set, "true"); ops.KindOf(err) == "" || !strings.Contains(err.Error(), name) {
				t.Errorf("stopped: %v", err)
			}
		})
	}
}

// A sandbox of Podman's is as strict as Docker's; a copy, which Podman would take for
// something else, is refused.
func podmanSandbox(t *testing.T, d *servers.Dockerd) {
	t.Helper()
	o := sandboxOptions(t)
	o.Host, o.Image = d.Host, d.BusyBox(t)
	s := sandbox(t, o)
	got := sh(t, s.Set(), "id -u; cat a.txt; echo new >b.txt; echo x >~/x; grep -c 'Cap.*:.0000000000000000$' /proc/self/status; tail -n +3 /proc/net/dev | grep -vc lo:; touch /x 2>&1 || true")
	if got != "1001\nhello\n5\n0\ntouch: /x: Read-only file system\n" {
		t.Errorf("%q", got)
	}
	if get(t, filepath.Join(o.Folder, "b.txt")) != "new\n" {
		t.Error("the folder is another one")
	}
	o.Copy = true
	if _, err := OpenSandbox(t.Context(), o); ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), "Podman") || !strings.Contains(err.Error(), "(that was asked for)") {
		t.Errorf("a copy: %v", err)
	}
}
