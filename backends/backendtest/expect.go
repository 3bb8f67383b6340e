package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// first returns the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sameBytes compares contents and shows the place where they begin to differ.
func sameBytes(what string, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	around := func(b []byte) []byte { return b[min(len(b), max(0, i-20)):min(len(b), i+40)] }
	return fmt.Errorf("%s: %d bytes, want %d; from byte %d on: %q, want %q", what, len(got), len(want), i, around(got), around(want))
}

// same compares values.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

// sameNames compares lists whatever their order.
func sameNames(what string, got, want []string) error {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: %q, want %q", what, got, want)
	}
	return nil
}

// fileError demands a *fs.PathError around want.
func fileError(what string, err, want error) error {
	var p *fs.PathError
	switch {
	case err == nil:
		return fmt.Errorf("%s: no error, want %q", what, want) //nolint:errorlint // what came is shown, not wrapped
	case !errors.Is(err, want):
		return fmt.Errorf("%s: %q is not %q", what, err, want) //nolint:errorlint // what came is shown, not wrapped
	case !errors.As(err, &p):
		return fmt.Errorf("%s: %q (%T) is no *fs.PathError", what, err, err) //nolint:errorlint // what came is shown, not wrapped
	}
	return nil
}

// done adds what was being done to an error.
func done(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// absent demands that nothing has this path.
func absent(f Fixture, path string) error {
	switch _, err := f.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%q exists, and should not", path)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("fixture: %w", err)
	}
	return nil
}

// holds demands that a file has this content on the target.
func holds(f Fixture, path string, want []byte) error {
	got, err := f.GetFile(path)
	if err != nil {
		return fmt.Errorf("the file on the target: %w", err)
	}
	return sameBytes(fmt.Sprintf("%q on the target", path), got, want)
}
