package wire

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/config"
)

func TestParse(t *testing.T) {
	named := []config.Workspace{{Name: "prod", Backend: "ssh", Host: "h", Path: "/srv"}}
	for _, c := range []struct {
		address string
		want    config.Workspace
	}{
		{".", config.Workspace{Backend: "local", Path: "."}},
		{"/srv/app", config.Workspace{Backend: "local", Path: "/srv/app"}},
		{"./a:b", config.Workspace{Backend: "local", Path: "./a:b"}},
		{"local:/srv/app", config.Workspace{Backend: "local", Path: "/srv/app"}},
		{"ssh://host", config.Workspace{Backend: "ssh", Host: "host"}},
		{"ssh://me@host:2222/srv/app/", config.Workspace{Backend: "ssh", User: "me", Host: "host", Port: 2222, Path: "/srv/app"}},
		{"ssh://host/", config.Workspace{Backend: "ssh", Host: "host", Path: "/"}},
		{"ssh://host/~/rel", config.Workspace{Backend: "ssh", Host: "host", Path: "~/rel"}},
		{"ssh://[::1]:2222/x", config.Workspace{Backend: "ssh", Host: "::1", Port: 2222, Path: "/x"}},
		{"me@host:rel/x", config.Workspace{Backend: "ssh", User: "me", Host: "host", Path: "~/rel/x"}},
		{"host:/srv", config.Workspace{Backend: "ssh", Host: "host", Path: "/srv"}},
		{"host:", config.Workspace{Backend: "ssh", Host: "host"}},
		{"docker://app", config.Workspace{Backend: "docker", Container: "app"}},
		{"docker://app/srv/x", config.Workspace{Backend: "docker", Container: "app", Path: "/srv/x"}},
		{"prod", named[0]},
	} {
		got, err := Parse(c.address, named)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.address, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("Parse(%q): %s", c.address, d)
		}
	}
	for _, address := range []string{
		"", "ssh://", "ssh://:22/x", "ssh://h:/x", "ssh://h:0/x", "ssh://h:99999", "ssh://a:b@h/", "docker://", "docker:///x",
		"http://x/y", "sandbox://img", "staging", "ssh://[::1/x", "@:x",
	} {
		var bad *AddressError
		if got, err := Parse(address, named); !errors.As(err, &bad) {
			t.Errorf("Parse(%q) = %+v, %v; want an *AddressError", address, got, err)
		}
	}
}
