package docker

import (
	"slices"
	"strings"
	"testing"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestSandboxOptionsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(o *SandboxOptions)
		want string // a part of the error; empty: none
	}{
		"plain":             {func(*SandboxOptions) {}, ""},
		"no image":          {func(o *SandboxOptions) { o.Image = "" }, "no image is named"},
		"relative":          {func(o *SandboxOptions) { o.Dir = "x" }, "is not absolute"},
		"root":              {func(o *SandboxOptions) { o.Dir = "/x/.." }, "can't be the workspace"},
		"tmp":               {func(o *SandboxOptions) { o.Dir = "/tmp/" }, "can't be the workspace"},
		"below tmp":         {func(o *SandboxOptions) { o.Dir = "/tmp/x" }, ""},
		"above the home":    {func(o *SandboxOptions) { o.Dir = "/home" }, "can't be the workspace"},
		"the helper's":      {func(o *SandboxOptions) { o.Dir = "/.piremote/x" }, "can't be the workspace"},
		"proc":              {func(o *SandboxOptions) { o.Dir = "/proc/x" }, "can't be the workspace"},
		"host network":      {func(o *SandboxOptions) { o.Network = "host" }, "would be no sandbox"},
		"another's network": {func(o *SandboxOptions) { o.Network = "container:db" }, "would be no sandbox"},
		"variable":          {func(o *SandboxOptions) { o.Env = []string{"A"} }, "has not the form NAME=value"},
		"nameless":          {func(o *SandboxOptions) { o.Env = []string{"=x"} }, "has not the form NAME=value"},
		"user name":         {func(o *SandboxOptions) { o.User = "me" }, "is no number"},
		"group name":        {func(o *SandboxOptions) { o.User = "1:staff" }, "is no number"},
		"root's":            {func(o *SandboxOptions) { o.User = "00:1000" }, "don't run as root"},
		"user":              {func(o *SandboxOptions) { o.User = "5" }, ""},
		"mount":             {func(o *SandboxOptions) { o.Mounts = []string{"/a:/b:ro", "tmpfs:/dev/shm"} }, ""},
		"mount of one":      {func(o *SandboxOptions) { o.Mounts = []string{"/a"} }, "has not the form"},
		"mount option":      {func(o *SandboxOptions) { o.Mounts = []string{"/a:/b:rw,z"} }, "has not the form"},
		"mount of a volume": {func(o *SandboxOptions) { o.Mounts = []string{"data:/b"} }, "not absolute"},
		"mount over":        {func(o *SandboxOptions) { o.Mounts = []string{"/a:/.piremote"} }, "needs itself"},
		"mount over dev":    {func(o *SandboxOptions) { o.Mounts = []string{"/a:/dev/mqueue"} }, "needs itself"},
		"folder":            {func(o *SandboxOptions) { o.Folder = "/no/such/folder" }, "is not there"},
	} {
		o := SandboxOptions{Image: "img"}
		c.edit(&o)
		o, err := o.complete()
		if err == nil {
			if _, err = o.user(); err == nil {
				_, err = o.spec("n", "why", "helper", nil)
			}
		}
		if err == nil {
			_, err = o.whyCopy()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSandboxReportNamesWhatIsMissing(t *testing.T) {
	o, err := SandboxOptions{Image: "img", Network: "bridge", CPUs: -1}.complete()
	if err != nil {
		t.Fatal(err)
	}
	r := o.report(target{}, "1000:1000", "", machine{Memory: true, Seccomp: true})
	for _, want := range []string{
		"the network bridge can be reached, as was asked for", "the daemon can't enforce: no swap beyond that",
		"processors are not limited, as was asked for", "the daemon can't enforce: at most 512 processes and threads",
	} {
		if !slices.Contains(r.Missing, want) {
			t.Errorf("%q is not in %q", want, r.Missing)
		}
	}
	if !slices.Contains(r.Enforced, "at most 2048 MiB of memory") || len(r.Missing) != 4 {
		t.Errorf("%+v", r)
	}
}
