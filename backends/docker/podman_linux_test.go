package docker

import (
	"bytes"
	"fmt"
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
