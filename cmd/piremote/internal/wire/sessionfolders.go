package wire

import (
	"fmt"
	"os"
	"path/filepath"
)

// SessionFolder is where this account keeps sessions of that name's workspace;
// empty if it has no place for that.
func SessionFolder(env []string, name string) string {
	if folder := stateFolder(env, "sessions"); folder != "" {
		return filepath.Join(folder, name)
	}
	return ""
}

// SessionFolders are the folders where this account keeps sessions, one for each
// workspace.
func SessionFolders(env []string) ([]string, error) {
	root := stateFolder(env, "sessions")
	if root == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("the sessions can't be listed: %w", err)
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, filepath.Join(root, e.Name()))
		}
	}
	return list, nil
}
