//go:build linux

package docker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

func TestDiagnose(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	bare := d.Run(t, servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()})
	for _, c := range []struct {
		o     Options
		kind  ops.Kind
		names []string // a failed one ends in "!"
		text  string
	}{
		{Options{Host: d.Host, Container: name, User: "1001"}, "", []string{"daemon", "container", "shell", "folder", "user", "rg"}, "uid=1001"},
		{Options{Host: d.Host, Container: bare}, ops.KindNoShell, []string{"daemon", "container", "shell!"}, bare},
		{Options{Host: d.Host, Container: "nope"}, ops.KindUnavailable, []string{"daemon", "container!"}, "nope"},
		{Options{Host: "unix:///no/such.sock", Container: name}, ops.KindUnavailable, []string{"daemon!"}, "/no/such.sock"},
		{Options{Host: "ssh://h", Container: name}, ops.KindUnavailable, []string{"daemon!"}, "ssh://h"},
	} {
		findings, err := Diagnose(t.Context(), c.o)
		var names []string
		var text strings.Builder
		for _, f := range findings {
			mark := ""
			if !f.OK {
				mark = "!"
			}
			names = append(names, f.Name+mark)
			text.WriteString(f.Detail + "\n")
		}
		if diff := cmp.Diff(c.names, names); diff != "" || ops.KindOf(err) != c.kind || !strings.Contains(text.String(), c.text) {
			t.Errorf("%+v: %v\n%s\n%s", c.o.Container, err, diff, text.String())
		}
	}
}
