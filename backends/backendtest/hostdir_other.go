//go:build !unix

package backendtest

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
