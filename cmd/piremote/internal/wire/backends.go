package wire

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/backends/ssh"
)

// sshOptions are the options of the SSH backend for a described workspace.
func sshOptions(o Options) ssh.Options {
	w, c := o.Workspace, o.Config.SSH
	home := lookup(o.Env, "HOME")
	options := ssh.Options{
		Host: w.Host, User: w.User, Port: w.Port, Dir: w.Path, Root: o.root(),
		ExtraRoots: o.extraRoots(), Strict: o.confine() == confineStrict, Home: home, LocalUser: localUser(o.Env), AgentSocket: lookup(o.Env, "SSH_AUTH_SOCK"), Env: sshEnvironment(o.Env),
		ConfigFile: underHome(home, c.ConfigFile), AcceptNew: c.HostKeys == "accept-new",
		ConnectTimeout: c.ConnectTimeout, Keepalive: c.Keepalive, KeepaliveCount: c.KeepaliveCount, Notice: o.Notice,
	}
	options.Helper, options.Helpers, options.Lease = o.helper()
	if program, err := exec.LookPath("ssh"); err == nil {
		options.SSHProgram = program
	}
	if o.commandsOnly() {
		options.Files = ssh.FilesShell // no SFTP server is started for nothing
	}
	for _, f := range w.IdentityFiles {
		options.IdentityFiles = append(options.IdentityFiles, underHome(home, f))
	}
	for _, f := range w.KnownHosts {
		options.KnownHosts = append(options.KnownHosts, underHome(home, f))
	}
	return options
}

// commandsOnly says whether no tool will be used that touches files itself.
func (o Options) commandsOnly() bool {
	return len(o.Tools) > 0 && !slices.ContainsFunc(o.Tools, func(name string) bool { return name != "bash" && name != "powershell" })
}

func localUser(env []string) string {
	return or(lookup(env, "USER"), lookup(env, "LOGNAME"))
}

// sshEnvironment is what an OpenSSH client and a proxy command need.
func sshEnvironment(env []string) []string {
	var list []string
	for _, name := range []string{"HOME", "PATH", "USER", "LOGNAME", "SSH_AUTH_SOCK", "LANG", "TMPDIR"} {
		if value := lookup(env, name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// underHome fills in a leading "~".
func underHome(home, p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return filepath.Join(home, p[1:])
	}
	return p
}

// dockerOptions are the options of the Docker backend for a described workspace. Done
// ends the way to a daemon behind SSH; the workspace is closed before.
func dockerOptions(o Options) (options docker.Options, done func()) {
	w, way := o.Workspace, newDaemonWay(o)
	options = docker.Options{
		Container: w.Container, Dir: w.Path, Root: o.root(), ExtraRoots: o.extraRoots(), User: w.User, Env: w.Env, Host: w.Endpoint, Home: lookup(o.Env, "HOME"),
		Getenv: func(name string) string { return lookup(o.Env, name) }, Notice: o.Notice,
		Dial: way.dial,
	}
	options.Helper, options.Helpers, options.Lease = o.helper()
	return options, way.close
}

// helper returns how the helper is used on a target.
func (o Options) helper() (helper.Policy, install.Bundle, time.Duration) {
	policy := helper.Policy(or(o.Workspace.Helper, o.Config.Helper.Policy))
	helpers, err := install.Embedded()
	if err != nil && o.Notice != nil {
		o.Notice("The helpers in this program are damaged: " + err.Error() + ".")
	}
	return policy, helpers, o.Config.Helper.Lease
}
