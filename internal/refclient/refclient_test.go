package refclient_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/internal/refclient"
)

func TestInstalledPackageRuns(t *testing.T) {
	node, dir := refclient.Install(t)
	script := "const m = await import(process.argv[1]); console.log(typeof m.SessionManager, typeof m.RpcClient)"
	out, err := exec.Command(node, "--input-type=module", "-e", script, filepath.Join(dir, "dist", "index.js")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "function function" {
		t.Errorf("%s, %v", out, err)
	}
}
