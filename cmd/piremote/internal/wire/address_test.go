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
		{"sandbox://debian", sandboxed("debian", "")},
		{"sandbox://debian/", sandboxed("debian", "")},
		{"sandbox://debian/srv/x/", sandboxed("debian", "/srv/x")},
		{"sandbox://debian:12", sandboxed("debian:12", "")},
		{"sandbox://debian:12/srv", sandboxed("debian:12", "/srv")},
		{"sandbox://ghcr.io/a/b:1/srv/x", sandboxed("ghcr.io/a/b:1", "/srv/x")},
		{"sandbox://localhost:5000/a/b:1", sandboxed("localhost:5000/a/b:1", "")},
		{"sandbox://a/b@sha256:00/srv", sandboxed("a/b@sha256:00", "/srv")},
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
		"http://x/y", "sandbox://", "sandbox:///x", "staging", "ssh://[::1/x", "@:x",
	} {
		var bad *AddressError
		if got, err := Parse(address, named); !errors.As(err, &bad) {
			t.Errorf("Parse(%q) = %+v, %v; want an *AddressError", address, got, err)
		}
	}
}

func sandboxed(image, dir string) config.Workspace {
	return config.Workspace{Backend: "sandbox", Path: dir, Sandbox: config.Sandbox{Image: image}}
}
