package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/tools/ops"
)

func writeContext(t *testing.T, dir, name, host string, current bool) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	meta := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]))
	if err := os.MkdirAll(meta, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(meta, "meta.json"), []byte(`{"Name":"`+name+`","Endpoints":{"docker":{"Host":"`+host+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if current {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"currentContext":"`+name+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDKX11EndpointOrder(t *testing.T) {
	home := t.TempDir()
	writeContext(t, filepath.Join(home, ".docker"), "colima", "unix:///colima.sock", true)
	writeContext(t, filepath.Join(home, ".docker"), "other", "unix:///other.sock", false)
	empty := t.TempDir()
	for _, c := range []struct {
		name         string
		o            Options
		env          map[string]string
		host, source string
	}{
		{"option", Options{Host: "unix:///o.sock", Home: home}, map[string]string{"DOCKER_HOST": "unix:///e.sock"}, "unix:///o.sock", "configured"},
		{"DOCKER_HOST", Options{Home: home}, map[string]string{"DOCKER_HOST": "unix:///e.sock", "DOCKER_CONTEXT": "other"}, "unix:///e.sock", "DOCKER_HOST"},
		{"DOCKER_CONTEXT", Options{Home: home}, map[string]string{"DOCKER_CONTEXT": "other"}, "unix:///other.sock", "context other"},
		{"current context", Options{Home: home}, nil, "unix:///colima.sock", "context colima"},
		{"ConfigDir", Options{Home: empty, ConfigDir: filepath.Join(home, ".docker")}, nil, "unix:///colima.sock", "context colima"},
		{"DOCKER_CONFIG", Options{Home: empty}, map[string]string{"DOCKER_CONFIG": filepath.Join(home, ".docker")}, "unix:///colima.sock", "context colima"},
		{"default", Options{Home: empty}, nil, defaultHost, "default"},
		{"context default", Options{Home: home}, map[string]string{"DOCKER_CONTEXT": "default"}, defaultHost, "default"},
	} {
		c.o.Getenv = func(name string) string { return c.env[name] }
		e, err := resolveEndpoint(c.o)
		if err != nil || e.Host != c.host || !strings.Contains(e.Source, c.source) {
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
	}
}

func TestDKX11EndpointsThatAreRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	writeContext(t, filepath.Join(home, ".docker"), "blind", `tcp://127.0.0.1:2376","SkipTLSVerify":true,"x":"`, false)
	for name, o := range map[string]Options{
		"authority":      {Getenv: func(n string) string { return map[string]string{"DOCKER_CONTEXT": "blind"}[n] }, Home: home},
		"ssh://u@h":      {Host: "ssh://u@h"},
		"gone":           {Getenv: func(n string) string { return map[string]string{"DOCKER_CONTEXT": "gone"}[n] }, Home: home},
		"carrier-pigeon": {Host: "carrier-pigeon://x"},
		"nonsense":       {Host: "nonsense"},
		"/no/such.sock":  {Host: "unix:///no/such.sock"},
		"127.0.0.1:1":    {Host: "tcp://127.0.0.1:1"},
	} {
		o.Container = "app"
		_, err := Open(t.Context(), o)
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDKX11DialReachesADaemonBehindSSH(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	asked := make(chan string, 100)
	r := f.runner(t, Options{Host: "ssh://u@h", Dial: func(ctx context.Context, host string) (net.Conn, error) {
		asked <- host
		return (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(f.host(), "tcp://"))
	}})
	if _, _, _, err := run(t.Context(), r); err != nil || len(asked) == 0 {
		t.Errorf("asked %d times, %v", len(asked), err)
	}
	for len(asked) > 0 {
		if host := <-asked; host != "ssh://u@h" {
			t.Errorf("asked for %q", host)
		}
	}
}

func TestDKX11OneContainerIsPinned(t *testing.T) {
	t.Parallel()
	missing := `{"message":"No such container"}`
	f := newFake(t)
	r := f.runner(t, Options{})
	if r.target.id != fakeID {
		t.Errorf("pinned %q", r.target.id)
	}
	f.mu.Lock()
	f.look = func(_ int, name string) (int, string) {
		if name == "app" {
			return 200, strings.Replace(containerJSON(`"Status":"running","Running":true`), "aaaa", "9999", 1)
		}
		return 404, missing
	}
	f.mu.Unlock()
	if err := r.look(t.Context(), ""); ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), "9999bbbbcccc") {
		t.Errorf("a container that was replaced: %v", err)
	}
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"nope", 404, missing, "container nope does not exist on " + f.host()},
		{"aa", 200, containerJSON(`"Status":"running","Running":true`), "beginning of an id"},
		{"ab", 400, `{"message":"Multiple IDs found with provided prefix: ab"}`, "Multiple IDs"},
		{"app", 200, containerJSON(`"Status":"exited","Running":false,"ExitCode":3`), "docker start app"},
	} {
		f.mu.Lock()
		f.look = func(int, string) (int, string) { return c.status, c.body }
		f.mu.Unlock()
		_, err := Open(t.Context(), Options{Host: f.host(), Container: c.name})
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Open(t.Context(), Options{}); ops.KindOf(err) != ops.KindUnavailable || errors.Is(err, context.Canceled) {
		t.Errorf("no name: %v", err)
	}
}
