package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

func TestCONF04Racer(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "f"), "secret")
	_, e, dir := open(t)
	sub, other := filepath.Join(dir, "sub"), filepath.Join(dir, "other")
	put(t, filepath.Join(sub, "f"), "inside")
	link(t, outside, other)
	swap := func() error {
		return unix.Renameat2(unix.AT_FDCWD, sub, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
	}
	if err := swap(); err != nil {
		t.Skip("this file system can't exchange names: ", err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				if err := swap(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	seen := map[string]int{}
	count := func(op string, err error) {
		switch {
		case err == nil:
			seen[op+" inside"]++
		case errors.Is(err, ops.ErrOutside):
			seen[op+" refused"]++
		default:
			seen[op+" failed"]++
		}
	}
	for i := range 3000 {
		data, err := e.ReadFile(t.Context(), sub+"/f", 0)
		if bytes.Contains(data, []byte("secret")) {
			t.Fatal("read outside")
		}
		count("read", err)
		if i%10 == 0 {
			_, err = e.WriteFile(t.Context(), fmt.Sprintf("%s/w%d", sub, i), []byte("inside"))
			count("write", err)
			_, err = e.EditFile(t.Context(), sub+"/f", edit("inside", "inside!"))
			if m := (*ops.MismatchError)(nil); errors.As(err, &m) {
				t.Fatalf("edited outside: %v", err)
			}
			count("edit", err)
			count("mkdir", e.MkdirAll(t.Context(), fmt.Sprintf("%s/d%d/e", sub, i)))
			_, err = e.Exec(t.Context(), ops.Command{Script: "[ ! -e f ] || grep -q inside f", Dir: sub}, nil)
			count("exec", err)
		}
	}
	close(stop)
	<-done
	t.Logf("%v", seen)
	if seen["read inside"] == 0 {
		t.Error("nothing was ever read")
	}
	for _, op := range []string{"read", "write", "edit", "mkdir", "exec"} {
		if seen[op+" refused"] == 0 {
			t.Errorf("%s was never refused", op)
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}
