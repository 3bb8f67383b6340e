package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
)

func TestGuardWantsSeconds(t *testing.T) {
	for _, args := range [][]string{nil, {"0"}, {"-1"}, {"x"}, {"1", "2"}} {
		var stderr strings.Builder
		if code := run(append([]string{helper.Guard}, args...), io.Discard, &stderr); code != usageStatus || !strings.Contains(stderr.String(), "takes a number of seconds") {
			t.Errorf("%q: %d, %q", args, code, stderr.String())
		}
	}
}

// The guard takes notice of a child that has ended (hazard DKX-08), and ends when it is
// told to.
func TestGuardReapsAndEnds(t *testing.T) {
	also := make(chan os.Signal, 1) // the guard may not listen yet: this process must live on
	signal.Notify(also, syscall.SIGTERM)
	defer signal.Stop(also)
	ended := make(chan int, 1)
	go func() { ended <- run([]string{helper.Guard, "3600"}, io.Discard, io.Discard) }()
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	poll(t, "the child is never reaped", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	poll(t, "the guard does not end", func() bool {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case code := <-ended:
			return code == 0
		default:
			return false
		}
	})
}

func TestGuardEndsWhenItsTimeIsOver(t *testing.T) {
	if code := run([]string{helper.Guard, "1"}, io.Discard, io.Discard); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// poll waits for something, with a generous limit.
func poll(t *testing.T, otherwise string, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ready(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
