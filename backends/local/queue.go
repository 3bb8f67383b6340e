package local

import (
	"context"
	"os"
	"path/filepath"
)

// queueKey names a file for the queue that all views of a workspace share: its
// path with links followed, and what does not exist appended to the nearest
// ancestor that does. It only orders; whether a path may be touched is decided
// by the operation itself. A path that can't be followed is its own key.
func queueKey(ctx context.Context, p string) (string, error) {
	p = filepath.Clean(p)
	for range maxKeyHops {
		if full, err := filepath.EvalSymlinks(p); err == nil {
			return full, nil
		}
		target, err := os.Readlink(p)
		if err != nil {
			break
		}
		// A link whose end does not exist names the file that a write creates.
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(p), target)
		}
		p = filepath.Clean(target)
	}
	parent, name := filepath.Dir(p), filepath.Base(p)
	if parent == p {
		return p, nil
	}
	above, err := queueKey(ctx, parent)
	return filepath.Join(above, name), err
}

// maxKeyHops bounds the links that a name may lead through.
const maxKeyHops = 40
