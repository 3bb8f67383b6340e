//go:build !linux

package install

import "runtime"

// Extract finds nothing: helpers are made for Linux alone. The error is an
// *AbsentError.
func (b Bundle) Extract(string) (*Extracted, error) {
	return nil, &AbsentError{OS: runtime.GOOS, Arch: runtime.GOARCH}
}
