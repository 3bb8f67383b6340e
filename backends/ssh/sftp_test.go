//go:build linux

package ssh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/tools/ops"
)

// fileTools opens a workspace on a server without a shell.
func fileTools(t *testing.T, f *fakeServer, dir string) *Workspace {
	t.Helper()
	o := f.options(t)
	o.Dir = dir
	w, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

func TestSFTP04ShortAnswersAreNoEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	content := make([]byte, 1<<20+17)
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	for _, size := range []int{8 << 10, 32 << 10, 1000} {
		p := &pieces{content: content, size: size}
		f := startFake(t, func(f *fakeServer) { f.subsystem = p.serve })
		got, err := fileTools(t, f, "/").Set().Read.ReadFile(t.Context(), "/file", 0)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("pieces of %d: %d of %d bytes, %v", size, len(got), len(content), err)
		}
	}
}

func TestSFTP04FileShorterThanItsSizeIsAnError(t *testing.T) {
	p := &cutShort{pieces{content: make([]byte, 100_000), size: 8 << 10}}
	f := startFake(t, func(f *fakeServer) {
		f.subsystem = func(ch gossh.Channel) {
			h := p.handlers()
			h.FileGet = p
			_ = sftp.NewRequestServer(ch, h).Serve()
			_ = ch.Close()
		}
	})
	_, err := fileTools(t, f, "/").Set().Read.ReadFile(t.Context(), "/file", 0)
	wantIs(t, "read", err, io.ErrUnexpectedEOF)
}

type cutShort struct{ pieces }

// Fileread implements sftp.FileReader.
func (c *cutShort) Fileread(*sftp.Request) (io.ReaderAt, error) {
	return &pieces{content: c.content[:50_000], size: c.size}, nil
}

func TestSFTP06AbortOfAStalledReadFreesTheRest(t *testing.T) {
	p := &pieces{content: []byte("content"), size: 100, stall: make(chan struct{})}
	f := startFake(t, func(f *fakeServer) { f.subsystem = p.serve })
	defer close(p.stall)
	w := fileTools(t, f, "/")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	begin := time.Now()
	_, err := w.Set().Read.ReadFile(ctx, "/stall", 0)
	wantIs(t, "aborted", err, context.Canceled)
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("abort took %v", d)
	}
	got, err := w.Set().Read.ReadFile(t.Context(), "/file", 0)
	if err != nil || string(got) != "content" {
		t.Errorf("the next read: %q, %v", got, err)
	}
	if n := f.connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestSFTP01ServerThatNeverAnswersTheStart(t *testing.T) {
	f := startFake(t, func(f *fakeServer) { f.subsystem = func(ch gossh.Channel) { _, _ = io.Copy(io.Discard, ch) } })
	o := f.options(t)
	o.ConnectTimeout = 500 * time.Millisecond
	begin := time.Now()
	_, err := Open(t.Context(), o)
	if err == nil || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

func TestSFTP03BrokenRepliesAreErrors(t *testing.T) {
	version := []byte{0, 0, 0, 5, 2, 0, 0, 0, 3}
	for name, reply := range map[string][]byte{
		"length of text":       []byte("00000000"),
		"unknown id":           {0, 0, 0, 9, 101, 9, 9, 9, 9, 0, 0, 0, 2},
		"truncated status":     {0, 0, 0, 5, 101, 0, 0, 0, 1},
		"count beyond the end": {0, 0, 0, 9, 104, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, func(f *fakeServer) {
				f.subsystem = func(ch gossh.Channel) {
					buf := make([]byte, 64<<10)
					_, _ = io.ReadFull(ch, buf[:9]) // INIT
					_, _ = ch.Write(version)
					for {
						if _, err := ch.Read(buf); err != nil {
							return
						}
						_, _ = ch.Write(reply)
					}
				}
			})
			c := f.connect(t, nil)
			clients := newClients(c)
			defer clients.close()
			files := &sftpFiles{clients: clients, walker: walker{}}
			_, err := files.Stat(t.Context(), "/file")
			if err == nil {
				t.Error("no error")
			}
			t.Log(err)
		})
	}
}

func TestSFTP07ServerKilledBetweenReads(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600))
	var mu sync.Mutex
	var last gossh.Channel
	starts := 0
	f := startFake(t, func(f *fakeServer) {
		f.subsystem = func(ch gossh.Channel) {
			mu.Lock()
			last = ch
			starts++
			mu.Unlock()
			realSFTP(ch)
		}
	})
	w := fileTools(t, f, dir)
	mu.Lock()
	_ = last.Close()
	mu.Unlock()
	if got, err := w.Set().Read.ReadFile(t.Context(), w.main.dir+"/f", 0); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if starts != 2 || f.connections() != 1 {
		t.Errorf("%d starts on %d connections", starts, f.connections())
	}
}

func TestSFTP08NoiseBeforeTheServer(t *testing.T) {
	f := startFake(t, func(f *fakeServer) {
		f.subsystem = func(ch gossh.Channel) { _, _ = io.WriteString(ch, "welcome to the machine\n"); realSFTP(ch) }
	})
	_, err := Open(t.Context(), f.options(t))
	if err == nil || !strings.Contains(err.Error(), "welcome to the machine") {
		// Neither is there a shell, whose absence is what is reported.
		var no *noSFTPError
		if !errors.As(err, &no) || !strings.Contains(no.reason, "welcome to the machine") {
			t.Errorf("error %v", err)
		}
	}
	dir := t.TempDir()
	f = startFake(t, func(f *fakeServer) {
		f.subsystem = func(ch gossh.Channel) { _, _ = io.WriteString(ch, "welcome\n"); _ = ch.Close() }
		f.exec = func(ch gossh.Channel, command string) {
			_, marker, ok := strings.Cut(command, "echo;echo ")
			if !ok { // the shell's probe
				exitWith(ch, 1)
				return
			}
			marker, _, _ = strings.Cut(marker, ";")
			_, _ = io.WriteString(ch, "welcome\n\n"+marker+"\n")
			realSFTP(ch)
		}
	})
	w := fileTools(t, f, dir)
	if _, err := w.Set().Ls.Stat(t.Context(), w.main.dir); err != nil {
		t.Errorf("by exec: %v", err)
	}
}

// refusing is a real SFTP server whose writes or attributes fail.
type refusing struct {
	sftp.Handlers
}

func (r *refusing) serve(ch gossh.Channel) {
	_ = sftp.NewRequestServer(ch, r.Handlers).Serve()
	_ = ch.Close()
}

func TestSFTP05RefusedWritesFailAndKeepTheOldBytes(t *testing.T) {
	for _, size := range []int{10, 32768, 40000} {
		mem := sftp.InMemHandler()
		r := &refusing{Handlers: mem}
		f := startFake(t, func(f *fakeServer) { f.subsystem = r.serve })
		w := fileTools(t, f, "/")
		_, err := w.Set().Write.WriteFile(t.Context(), "/f", []byte("old"))
		must(t, err)
		r.FilePut = fullDisk{mem.FilePut}
		w.clients.close() // the next call starts a server with the full disk
		_, err = w.Set().Write.WriteFile(t.Context(), "/f", make([]byte, size))
		if err == nil {
			t.Errorf("%d bytes: no error", size)
		}
		if got, err := w.Set().Read.ReadFile(t.Context(), "/f", 0); err != nil || string(got) != "old" {
			t.Errorf("%d bytes: the file is %q, %v", size, got, err)
		}
		must(t, w.Set().Ls.ReadDir(t.Context(), "/", func(e fs.DirEntry) bool {
			if strings.HasPrefix(e.Name(), ".piremote") {
				t.Errorf("left behind: %s", e.Name())
			}
			return true
		}))
	}
}

type fullDisk struct{ sftp.FileWriter }

// Filewrite implements sftp.FileWriter.
func (f fullDisk) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	if _, err := f.FileWriter.Filewrite(r); err != nil {
		return nil, err
	}
	return full{}, nil
}

type full struct{}

// WriteAt implements io.WriterAt.
func (full) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no space") }

func TestSFTP02WithoutPosixRename(t *testing.T) {
	// The in-memory server refuses a plain rename onto an existing file.
	f := startFake(t, func(f *fakeServer) {
		r := &refusing{Handlers: sftp.InMemHandler()}
		f.subsystem = r.serve
	})
	w := fileTools(t, f, "/")
	for i, text := range []string{"one", "two", "three"} {
		report, err := w.Set().Write.WriteFile(t.Context(), "/f", []byte(text))
		if err != nil || report.Created != (i == 0) {
			t.Fatalf("%+v, %v", report, err)
		}
		if got, err := w.Set().Read.ReadFile(t.Context(), "/f", 0); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestSSHX09FilesWithoutAShell(t *testing.T) {
	f := startFake(t, func(f *fakeServer) { f.subsystem = realSFTP })
	dir := t.TempDir()
	w := fileTools(t, f, dir)
	set := w.Set()
	if set.Bash != nil || set.PowerShell != nil {
		t.Error("there is a shell tool")
	}
	if _, ok := set.Grep.(ops.Searcher); ok {
		t.Error("there is a searcher")
	}
	p := w.main.dir + "/new/file"
	must(t, set.Write.MkdirAll(t.Context(), w.main.dir+"/new"))
	if _, err := set.Write.WriteFile(t.Context(), p, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := set.Read.ReadFile(t.Context(), p, 0); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := Open(t.Context(), func() Options { o := f.options(t); o.Dir = dir + "/none"; return o }())
	wantKind(t, "no folder", err, ops.KindUnavailable, "none")
	_, err = Open(t.Context(), startFake(t, nil).options(t))
	wantKind(t, "neither shell nor files", err, ops.KindNoShell)
}
