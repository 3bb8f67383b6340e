//go:build !linux

package install

import "runtime"

// Extract finds nothing: helpers are made for Linux alone. The error is an
// *AbsentError.
func (b Bundle) Extract(string) (string, error) {
	return "", &AbsentError{OS: runtime.GOOS, Arch: runtime.GOARCH}
}
