package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// writeAtomic writes two contents in turn while others read behind the
// backend's back.
func writeAtomic(ctx context.Context, w *Workspace) error {
	const size, writes, readers = 256 << 10, 12, 3
	contents := [][]byte{bytes.Repeat([]byte("a"), size), bytes.Repeat([]byte("b"), size)}
	if err := w.Fixture.PutFile(w.at("file"), contents[1], 0o644); err != nil {
		return err
	}
	stop := make(chan struct{})
	seen := make(chan error, readers)
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				data, err := w.Fixture.GetFile(w.at("file"))
				if err == nil && !bytes.Equal(data, contents[0]) && !bytes.Equal(data, contents[1]) {
					err = fmt.Errorf("a reader saw %d bytes that are neither the old content nor the new", len(data))
				}
				if err != nil {
					seen <- err
					return
				}
			}
		})
	}
	var err error
	for i := 0; i < writes && err == nil; i++ {
		err = write(ctx, w, w.at("file"), contents[i%2])
	}
	close(stop)
	group.Wait()
	close(seen)
	return first(err, <-seen)
}
