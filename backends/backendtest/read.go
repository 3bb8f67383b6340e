package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func readChecks() []Check {
	return []Check{
		{Name: "ReadExactBytes", Rule: "ReadFile returns the whole content, byte for byte (READ-01, SFTP-04)", Run: readExactBytes},
		{Name: "ReadLimit", Rule: "ReadFile of more than limit bytes is ErrTooLarge, of exactly limit it is not (READ-01)", Run: readLimit},
		{Name: "ReadMissing", Rule: "a missing file is a *fs.PathError around fs.ErrNotExist", Run: readMissing},
		{Name: "ReadFolder", Rule: "reading a folder is ErrIsDir", Run: readFolder},
		{Name: "ReadBelowFile", Rule: "a path that goes on below a file is ErrNotDir", Run: readBelowFile},
		{Name: "ReadFIFO", Rule: "a FIFO is ErrNotRegular and never blocks (READ-03)", Run: readFIFO},
		{Name: "ReadOwnBytes", Rule: "the caller owns the returned bytes", Run: readOwnBytes},
		{Name: "Access", Rule: "Access fails as ReadFile would, and not for a file that can be read", Run: access},
	}
}

// anyBytes returns n bytes of every value; they are the same in each run.
func anyBytes(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func readExactBytes(ctx context.Context, w *Workspace) error {
	for _, n := range []int{0, 1, 4096, 1 << 20} {
		want := anyBytes(n)
		if err := w.Fixture.PutFile(w.at("data"), want, 0o644); err != nil {
			return err
		}
		got, err := w.Set.Read.ReadFile(ctx, w.at("data"), 0)
		if err := first(err, sameBytes(fmt.Sprintf("a file of %d bytes", n), got, want)); err != nil {
			return err
		}
	}
	return nil
}

func readLimit(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"ten": "0123456789"}); err != nil {
		return err
	}
	got, err := w.Set.Read.ReadFile(ctx, w.at("ten"), 10)
	if err := first(done("limit 10", err), sameBytes("limit 10", got, []byte("0123456789"))); err != nil {
		return err
	}
	_, err = w.Set.Read.ReadFile(ctx, w.at("ten"), 9)
	return fileError("limit 9 of 10 bytes", err, ops.ErrTooLarge)
}

func readMissing(ctx context.Context, w *Workspace) error {
	_, err := w.Set.Read.ReadFile(ctx, w.at("missing"), 0)
	_, below := w.Set.Read.ReadFile(ctx, w.at("no", "such", "file"), 0)
	return first(fileError("a missing file", err, fs.ErrNotExist), fileError("below a missing folder", below, fs.ErrNotExist))
}

func readFolder(ctx context.Context, w *Workspace) error {
	if err := w.Fixture.Mkdir(w.at("folder"), 0o755); err != nil {
		return err
	}
	_, err := w.Set.Read.ReadFile(ctx, w.at("folder"), 0)
	return fileError("a folder", err, ops.ErrIsDir)
}

func readBelowFile(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"file": "x"}); err != nil {
		return err
	}
	_, err := w.Set.Read.ReadFile(ctx, w.at("file", "below"), 0)
	return fileError("below a file", err, ops.ErrNotDir)
}

func readFIFO(ctx context.Context, w *Workspace) error {
	if err := w.Fixture.Mkfifo(w.at("fifo")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := w.Set.Read.ReadFile(ctx, w.at("fifo"), 0)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("reading a FIFO blocks")
	}
	return first(fileError("a FIFO", err, ops.ErrNotRegular), fileError("access to a FIFO", w.Set.Read.Access(ctx, w.at("fifo")), ops.ErrNotRegular))
}

func readOwnBytes(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"mine": "before"}); err != nil {
		return err
	}
	data, err := w.Set.Read.ReadFile(ctx, w.at("mine"), 0)
	if err != nil {
		return err
	}
	for i := range data {
		data[i] = 'X'
	}
	again, err := w.Set.Read.ReadFile(ctx, w.at("mine"), 0)
	return first(err, sameBytes("read again", again, []byte("before")))
}

func access(ctx context.Context, w *Workspace) error {
	if err := first(w.put(map[string]string{"file": "x"}), w.Fixture.Mkdir(w.at("folder"), 0o755), w.Fixture.Symlink("file", w.at("link"))); err != nil {
		return err
	}
	return first(
		done("a file", w.Set.Read.Access(ctx, w.at("file"))),
		done("a link to a file", w.Set.Read.Access(ctx, w.at("link"))),
		fileError("a missing file", w.Set.Read.Access(ctx, w.at("missing")), fs.ErrNotExist),
		fileError("a folder", w.Set.Read.Access(ctx, w.at("folder")), ops.ErrIsDir),
	)
}
