package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/server"
)

// serve speaks the protocol until the session or the connection ends.
func serve(word string, stderr io.Writer) int {
	in, out, err := streams(word)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, helper.Name+":", err) // nobody may be listening
		return 1
	}
	// A peer that is gone is an error of writing, not the end of this process. To
	// ignore the signal would make commands ignore it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	interrupt := make(chan struct{})
	go func() { <-ends; close(interrupt) }()

	self, cache, name := program()
	o := server.Options{
		In: in, Out: out, Env: os.Environ(), Home: home(), Self: self,
		Supervisor: self, SupervisorArgs: []string{helper.Supervise}, Cache: cache, Program: name, Interrupt: interrupt,
	}
	run := server.Serve
	if word == helper.Reside {
		run = server.Reside
	}
	if err := run(o); err != nil {
		_, _ = fmt.Fprintln(stderr, helper.Name+":", err) // as above
		return 1
	}
	return 0
}

// streams are the standard streams, closable while something waits for them; for a
// resident both are the socket that is its standard input.
func streams(word string) (in, out *os.File, err error) {
	if in, err = closable(syscall.Stdin, "input"); err != nil || word == helper.Reside {
		return in, in, err
	}
	out, err = closable(syscall.Stdout, "output")
	return in, out, err
}

func closable(fd int, name string) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("the standard %s can't be used: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// program returns the path by which this program can be started again, and its
// folder and its name in it, if nobody else can change what is there: sessions are
// kept in it.
func program() (self, cache, name string) {
	self = "/proc/self/exe" // also when the file has been replaced
	path, err := os.Executable()
	if err != nil {
		return self, "", ""
	}
	if _, err := os.Stat(self); err != nil {
		self = path
	}
	dir := filepath.Dir(path)
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return self, "", ""
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return self, "", ""
	}
	return self, dir, filepath.Base(path)
}

// home is the account's home folder; the root of everything if there is none.
func home() string {
	if h, err := os.UserHomeDir(); err == nil && filepath.IsAbs(h) {
		return filepath.Clean(h)
	}
	return "/"
}
