package docker

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/helper"
)

// The defaults of a sandbox.
const (
	defaultPlace    = "/workspace"
	defaultNetwork  = "none"
	defaultMemory   = 2 << 30
	defaultCPUs     = 2
	defaultPids     = 512
	defaultLifetime = 24 * time.Hour
	defaultUser     = "1000:1000"
)

// Places in a sandbox that are its own.
const (
	sandboxHome   = "/home/piremote"
	sandboxHelper = "/.piremote"
)

// complete checks what is given and fills in what is not.
func (o SandboxOptions) complete() (SandboxOptions, error) {
	bad := func(format string, args ...any) (SandboxOptions, error) {
		return o, refuse(endpoint{}, format, args...)
	}
	if o.Image == "" {
		return bad("no image is named: write sandbox://IMAGE:TAG/path")
	}
	o.Dir = or(o.Dir, defaultPlace)
	if !path.IsAbs(o.Dir) {
		return bad("the folder %q of a sandbox is not absolute: write sandbox://IMAGE:TAG/path", o.Dir)
	}
	if o.Dir = path.Clean(o.Dir); taken(o.Dir) {
		return bad("the folder %s can't be the workspace of a sandbox, which needs that place itself: write sandbox://IMAGE:TAG/path with another one", o.Dir)
	}
	o.Network = or(o.Network, defaultNetwork)
	if o.Network == "host" || o.Network == "default" || strings.Contains(o.Network, ":") {
		return bad("the network %q would be no sandbox: give none, bridge or the name of a network", o.Network)
	}
	o.Memory, o.CPUs, o.Pids = or(o.Memory, defaultMemory), or(o.CPUs, defaultCPUs), or(o.Pids, defaultPids)
	if math.IsNaN(o.CPUs) {
		return bad("the limit of processors is no number")
	}
	for _, e := range o.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return bad("the variable %q has not the form NAME=value", e)
		}
	}
	o.Lifetime, o.Timeout = or(o.Lifetime, defaultLifetime), or(o.Timeout, defaultTimeout)
	o.token = newToken()
	if o.Folder == "" {
		return o, nil
	}
	var err error
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return bad("the folder %s can't be named: %v", o.Folder, err)
	}
	return o, nil
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// taken reports that something can't be mounted at a place, or in or over which the
// sandbox has something itself.
func taken(dir string) bool {
	if dir == "/tmp" {
		return true
	}
	return slices.ContainsFunc([]string{sandboxHome, sandboxHelper, "/proc", "/sys", "/dev"}, func(own string) bool {
		below := strings.HasPrefix(dir, own+"/") && dir != "/dev/shm"
		return dir == "/" || dir == own || strings.HasPrefix(own, dir+"/") || below && own != sandboxHome
	})
}

// user returns who runs commands: as told, else the owner of the folder unless that
// is root.
func (o SandboxOptions) user() (string, error) {
	name := o.User
	if name == "" {
		name = defaultUser
		if uid, gid, ok := owner(o.Folder); ok && uid != 0 {
			name = fmt.Sprintf("%d:%d", uid, gid)
		}
	}
	uid, gid, pair := strings.Cut(name, ":")
	if !pair {
		gid = uid
	}
	for _, n := range []string{uid, gid} {
		if _, err := strconv.ParseUint(n, 10, 31); err != nil {
			return "", refuse(endpoint{}, "the user %q of a sandbox is no number: write uid or uid:gid", name)
		}
	}
	if n, _ := strconv.Atoi(uid); n == 0 {
		return "", refuse(endpoint{}, "commands of a sandbox don't run as root, to whom what guards it belongs: name another account by --user")
	}
	return uid + ":" + gid, nil
}

// whyCopy returns why the folder has to be copied, as far as that is known before.
func (o SandboxOptions) whyCopy() (string, error) {
	if o.Folder == "" {
		return "there is none", nil
	}
	info, err := os.Stat(o.Folder)
	if err != nil || !info.IsDir() {
		return "", refuse(endpoint{}, "the folder %s for the sandbox is not there, or no folder", o.Folder)
	}
	if o.Copy {
		return "that was asked for", nil
	}
	if uid, _, ok := owner(o.Folder); ok && uid == 0 && o.User == "" {
		return "root owns it, and commands don't run as root; --user names another account that may write there", nil
	}
	return "", nil
}

// Labels of a sandbox, by which those that a crash left are found.
const (
	labelSandbox = "piremote.sandbox" // its token; see claim
	labelUntil   = "piremote.until"   // when its time is over, in seconds since 1970
	labelKeep    = "piremote.keep"    // whether it was to stay when it was closed
)

// spec is the container to be made: a root file system that can't be written but for
// the working folder, /tmp and the home; no capability, no new privilege, no network
// unless one is named; limits. Its main process is root's, the commands are not.
func (o SandboxOptions) spec(name, copied, program string, imageVolumes []string) (spec, error) {
	until := time.Now().Add(o.Lifetime)
	memory := max(o.Memory, 0)
	s := spec{
		Name: name, Image: o.Image,
		Entrypoint: []string{path.Join(sandboxHelper, program), helper.Guard, strconv.Itoa(int(o.Lifetime.Seconds()))},
		Env:        append([]string{"HOME=" + sandboxHome}, o.Env...),
		Labels: map[string]string{
			labelSandbox: o.token, labelUntil: strconv.FormatInt(until.Unix(), 10), labelKeep: strconv.FormatBool(o.Keep),
		},
		Network: o.Network, Memory: memory, CPUs: max(o.CPUs, 0), Pids: max(o.Pids, 0),
		Tmpfs: map[string]string{
			"/tmp": o.tmpfs("mode=1777"),
			// Its only account's; Podman can't let it belong to that.
			sandboxHome: o.tmpfs("mode=1777"),
			// Names of message queues could be made there.
			"/dev/mqueue": nothing,
		},
		Volumes: []string{sandboxHelper}, Keep: o.Keep,
	}
	if copied == "" {
		s.Binds = append(s.Binds, bind{Source: o.Folder, Target: o.Dir})
	} else {
		s.Volumes = append(s.Volumes, o.Dir)
	}
	used := []string{o.Dir, "/tmp", sandboxHome}
	for _, m := range o.Mounts {
		b, err := parseMount(m)
		if err != nil {
			return spec{}, err
		}
		if b.Source == memorySource {
			s.Tmpfs[b.Target] = o.tmpfs("mode=1777")
		} else {
			s.Binds = append(s.Binds, b)
		}
		used = append(used, b.Target)
	}
	// What the image wants to be a volume could be written. It is empty instead.
	for _, v := range imageVolumes {
		if v = path.Clean(v); !slices.Contains(used, v) {
			s.Tmpfs[v] = nothing
		}
	}
	return s, nil
}

// nothing are the options of an empty folder that can't be written.
const nothing = "ro,size=4096,mode=0755"

// tmpfs are the options of a folder in memory. It counts against the memory of the
// sandbox, and must leave enough of it.
func (o SandboxOptions) tmpfs(more string) string {
	return fmt.Sprintf("rw,exec,nosuid,nodev,size=%d,%s", o.tmpfsSize(), more)
}

func (o SandboxOptions) tmpfsSize() int64 {
	const ordinary = 512 << 20
	if o.Memory <= 0 {
		return ordinary
	}
	return min(o.Memory/4, ordinary)
}

// memorySource is the source of a mount in memory.
const memorySource = "tmpfs"

// parseMount reads "host:container[:ro]" or "tmpfs:container".
func parseMount(text string) (bind, error) {
	parts := strings.Split(text, ":")
	b := bind{}
	switch {
	case len(parts) == 3 && parts[2] == "ro":
		b.ReadOnly = true
	case len(parts) != 2:
		return b, refuse(endpoint{}, "the mount %q has not the form host:container, host:container:ro or tmpfs:container", text)
	}
	b.Source, b.Target = parts[0], path.Clean(parts[1])
	if b.Source != memorySource && !path.IsAbs(b.Source) || !path.IsAbs(b.Target) {
		return b, refuse(endpoint{}, "the folders of the mount %q are not absolute paths", text)
	}
	if taken(b.Target) {
		return b, refuse(endpoint{}, "the mount %q would cover a place that the sandbox needs itself: name another folder", text)
	}
	return b, nil
}
