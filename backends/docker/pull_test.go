package docker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
)

// pulling opens no more of a sandbox than its image, at a daemon that has it once it is
// pulled well, and returns what the user is told.
func pulling(ctx context.Context, t *testing.T, f *fake, notice func(string)) (volumes, told []string, err error) {
	t.Helper()
	there := false
	if pull := f.pull; pull != nil {
		f.pull = func(w http.ResponseWriter, r *http.Request) {
			pull(w, r)
			f.mu.Lock()
			defer f.mu.Unlock()
			there = true
		}
	}
	if f.image == nil {
		f.image = func() (int, string) {
			if !there {
				return 404, `{"message":"No such image: reg.example/a/b:1"}`
			}
			return 200, `{"Id":"sha256:1","Config":{"Volumes":{"/data":{}}}}`
		}
	}
	o := SandboxOptions{Image: "reg.example/a/b:1", Options: Options{Host: f.host(), Timeout: defaultTimeout}}
	o.Notice = func(text string) {
		told = append(told, text)
		if notice != nil {
			notice(text)
		}
	}
	r, err := newRunner(o.Options, "piremote-x")
	must(t, err)
	t.Cleanup(func() { _ = r.daemon.Close() })
	volumes, err = (&Sandbox{runner: r}).image(ctx, o)
	return volumes, told, err
}

// progress sends lines of a pull's progress.
func progress(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Join(lines, "\r\n")) }
}

const missingImage = "The image reg.example/a/b:1 is not there and is pulled."

func TestPullTellsEachStepOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.pull = func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("fromImage") != "reg.example/a/b" || q.Get("tag") != "1" {
			t.Errorf("asked for %v", q)
		}
		progress(
			`{"status":"Pulling from a/b","id":"1"}`,
			`{"status":"Downloading","progressDetail":{"current":1,"total":9},"progress":"[=> ]","id":"aa"}`,
			`{"status":"Downloading","progressDetail":{"current":1,"total":9},"progress":"[=> ]","id":"bb"}`,
			`{"status":"Downloading","progressDetail":{"current":9,"total":9},"progress":"[==>]","id":"aa"}`,
			`{"status":"Downloading","progressDetail":{"current":9,"total":9},"progress":"[==>]","id":"bb"}`,
			`{"status":"Pull complete","progressDetail":{},"id":"aa"}`,
			`{}`,
			`{"status":"Digest: sha256:1"}`,
		)(w, r)
	}
	volumes, told, err := pulling(t.Context(), t, f, nil)
	want := []string{missingImage}
	for _, step := range []string{"1 Pulling from a/b", "aa Downloading", "bb Downloading", "aa Pull complete", "Digest: sha256:1"} {
		want = append(want, "pulling reg.example/a/b:1: "+step)
	}
	if diff := cmp.Diff(want, told); diff != "" || err != nil {
		t.Errorf("%v, told (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"/data"}, volumes); diff != "" {
		t.Error(diff)
	}
}

// What goes wrong is one sentence that names the image and the daemon.
func TestPullFaults(t *testing.T) {
	t.Parallel()
	missing := func() (int, string) { return 404, `{"message":"No such image"}` }
	for name, c := range map[string]struct {
		pull  http.HandlerFunc
		image func() (int, string)
		want  string
	}{
		"in the stream": {
			progress(`{"status":"Downloading","id":"aa"}`, `{"errorDetail":{"message":"no space left on device"},"error":"write /x:\n no space left on device"}`),
			nil, "can't be pulled: write /x: no space left on device; docker images lists those that are",
		},
		"unknown": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"message":"manifest for reg.example/a/b:1 not found: manifest unknown"}`)
			},
			nil, "can't be pulled: Error response from daemon: manifest for reg.example/a/b:1 not found: manifest unknown; docker images lists",
		},
		"cut":                  {progress(`{"status":"Downloading","id":"aa"}`, `{"status":"Down`), nil, "can't be pulled: unexpected EOF; "},
		"no JSON":              {progress("<html>"), nil, "can't be pulled: invalid character"},
		"pulled and not there": {progress(`{"status":"Pull complete","id":"aa"}`), missing, "which says that it has pulled it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.pull, f.image = c.pull, c.image
			_, told, err := pulling(t.Context(), t, f, nil)
			if ops.KindOf(err) != ops.KindUnavailable || !strings.HasPrefix(err.Error(), "the image reg.example/a/b:1 is not at the daemon tcp://127.0.0.1") ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if len(told) == 0 || told[0] != missingImage {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A pull that takes long ends with its context, at the daemon too.
func TestPullIsCanceled(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ended := make(chan struct{})
	f.pull = func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		progress(`{"status":"Downloading","id":"aa"}`)(w, r)
		_ = http.NewResponseController(w).Flush() // the client tells if it does not come
		<-r.Context().Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, _, err := pulling(ctx, t, f, func(text string) {
		if strings.HasSuffix(text, "aa Downloading") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || ops.KindOf(err) != "" {
		t.Errorf("%v", err)
	}
	<-ended
	if n := f.seen("POST /v1.41/images/create"); n != 1 {
		t.Errorf("%d pulls", n)
	}
}
