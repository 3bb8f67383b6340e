//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/internal/refclient"
)

// The published client, unchanged, drives a whole session: prompt, steer, follow-up,
// abort, bash, compaction, fork, and what else it can ask.
func TestPublishedClientDrivesASession(t *testing.T) {
	node, packageDir := refclient.Install(t)
	folder, err := filepath.Abs(filepath.Join("testdata", "rpcclient"))
	if err != nil {
		t.Fatal(err)
	}
	workspace, home := t.TempDir(), t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(folder, "drive.mjs"), packageDir, filepath.Join(folder, "launcher.mjs"),
		"scripted:"+filepath.Join(folder, "script.yaml"), workspace)
	cmd.Env = []string{"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "HOME=" + home, "PIREMOTE_BINARY=" + binary}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "driven\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(workspace, "a.txt")); err != nil || string(data) != "hello\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	kept, err := filepath.Glob(filepath.Join(home, ".local/state/piremote/sessions/*/*.jsonl"))
	if err != nil || len(kept) < 2 {
		t.Errorf("the sessions kept are %v, %v", kept, err)
	}
}
