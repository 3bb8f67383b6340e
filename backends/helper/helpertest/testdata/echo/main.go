// The helper of the tests: it says its version, and serves by sending back what
// it gets, after one line about how it was started.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// version is set by the linker.
var version = "piremote-helper"

func main() {
	switch os.Args[1] {
	case "version":
		fmt.Println(version)
	case "serve":
		mask := syscall.Umask(0)
		syscall.Umask(mask)
		var vars []string
		for _, v := range os.Environ() {
			if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "p_") || name == "PWD" || name == "OLDPWD" {
				vars = append(vars, name)
			}
		}
		fmt.Printf("hello %d %03o %v\n", len(os.Args[2]), mask, vars)
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "bye")
		os.Exit(7)
	}
}
