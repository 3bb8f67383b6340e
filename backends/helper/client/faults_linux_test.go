package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// Without a lease a command ends with its connection; who can't get back can't
// tell how it ended.
func TestCutCommandWithoutLeaseEnds(t *testing.T) {
	dir := t.TempDir()
	dial := helper(t, t.TempDir())
	var link io.ReadWriteCloser
	w, err := client.Open(t.Context(), client.Options{Label: "helper:", Dir: dir, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		if link != nil {
			return nil, &ops.TransportError{Kind: ops.KindAuth, Msg: "not twice"}
		}
		s, err := dial(ctx)
		link = s
		return s, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	begun := make(chan string, 1)
	done := make(chan error, 1)
	go func() {
		_, err := w.Set().Bash.Exec(t.Context(), ops.Command{Script: "echo $$; sleep 100", Dir: dir}, func(c ops.Chunk) {
			begun <- strings.TrimSpace(string(c.Data))
		})
		done <- err
	}()
	pid := <-begun
	if _, err := os.Stat("/proc/" + pid); err != nil {
		t.Fatal(err)
	}
	_ = link.Close()
	if err := <-done; ops.KindOf(err) != ops.KindOutcomeUnknown {
		t.Errorf("%v", err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the command still runs")
		}
	}
}

// Large content is carried in parts, in both directions, and is exact.
func TestLargeContentIsExact(t *testing.T) {
	dir := t.TempDir()
	w, err := client.Open(t.Context(), client.Options{Label: "helper:", Dir: dir, Dial: helper(t, t.TempDir()), Bulk: 3, Compress: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, size := range []int{wire.MaxPayload - 1, wire.MaxPayload, wire.MaxPayload + 1, 3 * wire.PartSize, 20<<20 + 17} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * i >> 7)
		}
		path := filepath.Join(dir, fmt.Sprint(size))
		if _, err := w.Set().Write.WriteFile(t.Context(), path, content); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("written %d: %v, %d bytes", size, err, len(got))
		}
		if got, err := w.Set().Read.ReadFile(t.Context(), path, 0); err != nil || !bytes.Equal(got, content) {
			t.Errorf("read %d: %v, %d bytes", size, err, len(got))
		}
		opener, ok := w.Set().Read.(ops.Opener)
		if !ok {
			t.Fatal("no opener")
		}
		r, err := opener.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
			t.Errorf("streamed %d: %v, %d bytes", size, err, len(got))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
