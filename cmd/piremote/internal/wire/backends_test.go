package wire

import (
	"slices"
	"testing"

	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/config"
)

// A call that only runs a command starts no SFTP server; whatever touches files has it.
func TestFileServerIsStartedWhereFilesAreTouched(t *testing.T) {
	for _, c := range []struct {
		tools []string
		files bool
	}{
		{nil, true},
		{[]string{"bash"}, false},
		{[]string{"powershell", "bash"}, false},
		{[]string{"bash", "read"}, true},
		{[]string{"grep"}, true},
	} {
		if got := sshOptions(Options{Config: &config.Config{}, Tools: c.tools}).Files; (got != ssh.FilesShell) != c.files {
			t.Errorf("%v: %q", c.tools, got)
		}
	}
}

func TestEnvOfADockerWorkspaceReachesItsCommands(t *testing.T) {
	env := []string{"A=b"}
	o, done := dockerOptions(Options{Config: &config.Config{}, Workspace: config.Workspace{Backend: "docker", Container: "app", Env: env}})
	defer done()
	if !slices.Equal(o.Env, env) {
		t.Errorf("%q", o.Env)
	}
}
