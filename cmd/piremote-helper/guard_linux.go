package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/piremote/piremote/backends/helper"
)

// guard keeps a container until its time is over or it is told to end.
func guard(args []string, stderr io.Writer) int {
	seconds := 0
	if len(args) == 1 {
		seconds, _ = strconv.Atoi(args[0]) // what is no number is refused below
	}
	if seconds <= 0 {
		_, _ = fmt.Fprintf(stderr, "%s: %s takes a number of seconds\n", helper.Name, helper.Guard)
		return usageStatus
	}
	// At the container's limit of processes there is no further thread to be had, and
	// Go's runtime ends a process that wants one.
	runtime.GOMAXPROCS(1)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	limit := time.NewTimer(time.Duration(seconds) * time.Second)
	defer limit.Stop()
	for {
		reap()
		select {
		case <-ended:
		case <-told:
			return 0
		case <-limit.C:
			return 0
		}
	}
}

// reap takes notice of every child that has ended.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
