package docker

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/internal/posix"
)

// fakeID is the id of the fake daemon's container "app".
const fakeID = "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"

// fake is a daemon with one container. Its functions may be changed before use.
type fake struct {
	server *httptest.Server
	ping   func(w http.ResponseWriter)
	look   func(n int, name string) (status int, body string) // n counts from 1
	start  func(conn net.Conn)                                // nil: never answers
	code   func(n int) string                                 // body of the exec's description
	put    func(body []byte)                                  // takes an archive
	get    []byte                                             // an archive; nil: it fails
	list   string                                             // of all containers
	pull   http.HandlerFunc                                   // sends the progress of a pull
	image  func() (status int, body string)                   // describes any image

	mu    sync.Mutex
	looks int
	codes int
	paths []string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		ping:  func(w http.ResponseWriter) { w.Header().Set("Api-Version", "1.41") },
		look:  func(int, string) (int, string) { return 200, containerJSON(`"Status":"running","Running":true`) },
		start: func(net.Conn) {},
		code:  func(int) string { return `{"Running":false,"ExitCode":0}` },
	}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func containerJSON(state string) string {
	return fmt.Sprintf(`{"Id":%q,"Name":"/app","State":{"StartedAt":"2001-01-01T00:00:00Z",%s},"Config":{"WorkingDir":"/srv"}}`, fakeID, state)
}

func (f *fake) host() string { return "tcp://" + strings.TrimPrefix(f.server.URL, "http://") }

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paths = append(f.paths, r.Method+" "+r.URL.Path)
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/_ping":
		f.ping(w)
	case path == "containers/json":
		_, _ = io.WriteString(w, f.list)
	case strings.HasPrefix(path, "containers/") && (r.Method == http.MethodDelete || strings.HasSuffix(path, "/restart")):
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(path, "containers/") && strings.HasSuffix(path, "/json"):
		f.looks++
		status, body := f.look(f.looks, strings.Split(path, "/")[1])
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	case strings.HasPrefix(path, "containers/") && strings.HasSuffix(path, "/exec"):
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"Id":"e1"}`)
	case strings.HasSuffix(path, "/archive") && r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		f.put(body)
	case strings.HasSuffix(path, "/archive") && f.get == nil:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"message":"the volume is broken"}`)
	case strings.HasSuffix(path, "/archive"):
		w.Header().Set("X-Docker-Container-Path-Stat", "e30=") // an empty object
		_, _ = w.Write(f.get)
	case path == "images/create":
		f.mu.Unlock()
		f.pull(w, r)
		f.mu.Lock()
	case strings.HasPrefix(path, "images/") && strings.HasSuffix(path, "/json"):
		status, body := f.image()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	case path == "exec/e1/json":
		f.codes++
		_, _ = io.WriteString(w, f.code(f.codes))
	case path == "exec/e1/start":
		f.attach(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message":"page not found"}`)
	}
}

func (f *fake) attach(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	start := f.start
	f.mu.Unlock()
	defer f.mu.Lock()
	if start == nil {
		<-r.Context().Done()
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	start(conn)
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c) // closing with unread input would break what was sent
	}
}

func (f *fake) seen(prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.paths {
		if strings.HasPrefix(p, prefix) {
			n++
		}
	}
	return n
}

// runner reaches the container.
func (f *fake) runner(t *testing.T, o Options) *runner {
	t.Helper()
	if o.Host == "" {
		o.Host = f.host()
	}
	o.Container = "app"
	r, _, err := reach(t.Context(), o)
	if r != nil {
		t.Cleanup(func() { _ = r.daemon.Close() })
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs a process and returns what it wrote.
func run(ctx context.Context, r *runner) (out string, status posix.Status, took time.Duration, err error) {
	begin := time.Now()
	status, err = r.Run(ctx, posix.Process{Argv: []string{"x"}, Stdin: strings.NewReader("input"), Stdout: func(p []byte) { out += string(p) }})
	return out, status, time.Since(begin), err
}

// hold sends empty frames until the other side has closed the connection for
// good, not only its own direction.
func hold(conn net.Conn) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := io.WriteString(conn, frame(1, "")); err != nil {
			return
		}
	}
}
