//go:build !linux

package local

import "os"

// scriptFile puts a script into a file without a name.
func (w *Workspace) scriptFile(script string) (*os.File, error) { return w.tempScript(script) }
