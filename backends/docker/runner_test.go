package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func TestDKX02ExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code func(n int) string
		want int
		kind ops.Kind
	}{
		{"zero", func(int) string { return `{"Running":false,"ExitCode":0}` }, 0, ""},
		{"null", func(int) string { return `{"Running":false,"ExitCode":null,"Pid":0}` }, 0, ops.KindNoStatus},
		{"absent", func(int) string { return `{"Running":false}` }, 0, ops.KindNoStatus},
		{"runs on", func(int) string { return `{"Running":true,"ExitCode":null}` }, 0, ops.KindNoStatus},
		{"late", func(n int) string {
			switch {
			case n < 3:
				return `{"Running":true,"ExitCode":null}`
			case n < 5:
				return `{"Running":false,"ExitCode":null}`
			}
			return `{"Running":false,"ExitCode":7}`
		}, 7, ""},
		{"signal", func(int) string { return `{"Running":false,"ExitCode":137}` }, 137, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.code = c.code
			f.start = func(conn net.Conn) { _, _ = io.WriteString(conn, frame(1, "out")+frame(2, "err")) }
			out, status, took, err := run(t.Context(), f.runner(t, Options{}))
			if ops.KindOf(err) != c.kind || (err != nil) != (c.kind != "") || status.Code != c.want || out != "out" {
				t.Errorf("%q, %+v, %v", out, status, err)
			}
			if took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestDKX02StartFailureIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		output string
		code   string
		kind   ops.Kind
	}{
		{`OCI runtime exec failed: exec failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown` + "\r\n", "126", ops.KindNoShell},
		{`OCI runtime exec failed: exec failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown` + "\r\n", "127", ops.KindNoShell},
		{"OCI runtime exec failed: exec failed: fork/exec: resource temporarily unavailable", "126", ops.KindUnavailable},
		{"cannot exec in a stopped state: unknown\r\n", "126", ops.KindUnavailable},
		{"OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown\r\n", "126", ops.KindUnavailable},
		{"OCI runtime error: crun: executable file `/bin/sh` not found in $PATH: No such file or directory", "127", ops.KindNoShell},
		{"a command may say: OCI runtime exec failed", "127", ""},
	} {
		f := newFake(t)
		f.code = func(int) string { return `{"Running":false,"ExitCode":` + c.code + `}` }
		f.start = func(conn net.Conn) { _, _ = io.WriteString(conn, frame(1, c.output)) }
		_, status, _, err := run(t.Context(), f.runner(t, Options{}))
		if ops.KindOf(err) != c.kind || (err == nil) != (c.kind == "") {
			t.Errorf("%s with %s: %+v, %v", c.output, c.code, status, err)
		}
	}
}

// A container that ended before its process began is named, and nothing is unknown.
func TestDKX07ContainerEndsBeforeItsProcess(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	whole := f.look
	f.look = func(n int, name string) (int, string) {
		if n <= 2 { // find, start
			return whole(n, name)
		}
		return 200, containerJSON(`"Status":"exited","Running":false,"ExitCode":3`)
	}
	f.code = func(int) string { return `{"Running":false,"ExitCode":126}` }
	f.start = func(conn net.Conn) {
		_, _ = io.WriteString(conn, frame(1, "cannot exec in a stopped state: unknown\r\n"))
	}
	_, status, _, err := run(t.Context(), f.runner(t, Options{}))
	if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), "container app is not running (exited, exit code 3)") {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestDKX05CorruptFramesAreAProtocolError(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{"raw": "plain text of a terminal\r\n", "giant": "\x01\x00\x00\x00\x80\x00\x00\x00abc"} {
		f := newFake(t)
		f.start = func(conn net.Conn) {
			if _, err := io.WriteString(conn, frame(1, "before")+bad); err != nil {
				return
			}
			hold(conn)
		}
		out, _, took, err := run(t.Context(), f.runner(t, Options{}))
		if ops.KindOf(err) != ops.KindProtocol || out != "before" || took > 10*time.Second {
			t.Errorf("%s: %q, %v after %v", name, out, err, took)
		}
	}
}

func TestDKX06NoAnswerToStartIsBounded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.start = nil
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, took, err := run(ctx, f.runner(t, Options{})); !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second {
		t.Errorf("with a deadline: %v after %v", err, took)
	}
	f = newFake(t)
	f.start = nil
	if _, _, took, err := run(t.Context(), f.runner(t, Options{Timeout: 200 * time.Millisecond})); ops.KindOf(err) != ops.KindUnavailable || took > 10*time.Second {
		t.Errorf("without one: %v after %v", err, took)
	}
}

func TestDKX06LostConnectionIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.start = func(conn net.Conn) { _, _ = io.WriteString(conn, frame(1, "part")+frame(1, "of a frame")[:10]) }
	out, _, _, err := run(t.Context(), f.runner(t, Options{}))
	if ops.KindOf(err) != ops.KindOutcomeUnknown || !strings.HasPrefix(out, "part") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.start = hold
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, took, err := run(ctx, f.runner(t, Options{})); !errors.Is(err, context.Canceled) || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

func TestDKX07ContainerEndsDuringACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"paused", 200, containerJSON(`"Status":"paused","Running":true,"Paused":true`), "is paused"},
		{"out of memory", 200, containerJSON(`"Status":"exited","Running":false,"OOMKilled":true,"ExitCode":137`), "out of memory"},
		{"stopped", 200, containerJSON(`"Status":"exited","Running":false,"ExitCode":3`), "exit code 3"},
		{"restarting", 200, containerJSON(`"Status":"restarting","Running":true,"ExitCode":1`), "restarting"},
		{"restarted", 200, strings.Replace(containerJSON(`"Status":"running","Running":true`), "2001", "2002", 1), "was restarted"},
		{"removing", 200, containerJSON(`"Status":"removing","Running":false,"ExitCode":137`), "is being removed"},
		{"removed", 404, `{"message":"No such container"}`, "does not exist on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			whole := f.look
			f.look = func(n int, name string) (int, string) {
				if n <= 2 { // find, start
					return whole(n, name)
				}
				return c.status, c.body
			}
			f.start = hold
			_, _, took, err := run(t.Context(), f.runner(t, Options{}))
			if ops.KindOf(err) != ops.KindOutcomeUnknown || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "app") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestDKX03VersionIsNegotiated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ daemon, want string }{{"1.41", "1.41"}, {"1.44", "1.44"}, {"1.54", "1.51"}} {
		f := newFake(t)
		f.ping = func(w http.ResponseWriter) { w.Header().Set("Api-Version", c.daemon) }
		if _, _, _, err := run(t.Context(), f.runner(t, Options{})); err != nil {
			t.Errorf("%s: %v", c.daemon, err)
		}
		for _, p := range f.paths {
			if !strings.HasSuffix(p, " /_ping") && !strings.Contains(p, " /v"+c.want+"/") {
				t.Errorf("daemon with %s: %s, want %s", c.daemon, p, c.want)
			}
		}
		before := f.seen("HEAD /_ping")
		f.runner(t, Options{})
		if f.seen("HEAD /_ping") != before+1 {
			t.Errorf("%s: not negotiated again", c.daemon)
		}
	}
}

func TestDKX03FailedNegotiationSettlesNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	good := f.ping
	fail := true
	f.ping = func(w http.ResponseWriter) {
		if fail {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		good(w)
	}
	d, err := connect(endpoint{Host: f.host()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := d.Inspect(t.Context(), "app"); err == nil {
		t.Error("no error while the daemon can't tell its version")
	}
	f.mu.Lock()
	fail = false
	f.mu.Unlock()
	if _, err := d.Inspect(t.Context(), "app"); err != nil {
		t.Error(err)
	}
	if f.seen("GET /v1.41/containers/app") != 1 {
		t.Errorf("%q", f.paths)
	}
}

func TestDKX03RefusedPinNamesTheVariable(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.look = func(int, string) (int, string) {
		return 400, `{"message":"client version 1.43 is too old. Minimum supported API version is 1.44"}`
	}
	_, err := Open(t.Context(), Options{Host: f.host(), Container: "app", Getenv: func(name string) string {
		return map[string]string{"DOCKER_API_VERSION": "1.43"}[name]
	}})
	if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), "DOCKER_API_VERSION") {
		t.Error(err)
	}
	if f.seen("HEAD /_ping") != 0 || f.seen("GET /v1.43/") == 0 {
		t.Errorf("%q", f.paths)
	}
}
