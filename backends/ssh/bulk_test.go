//go:build linux

package ssh

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
)

// BenchmarkAgentlessBulk compares large reads and writes without the helper with
// OpenSSH's sftp over the same link, by turns, and reports the ratio of the medians.
func BenchmarkAgentlessBulk(b *testing.B) {
	s := servers.StartSSHD(b, servers.SSHDOptions{})
	content := make([]byte, 100<<20)
	for i := range content {
		content[i] = byte(i>>3 ^ i*i>>11)
	}
	for _, rtt := range []time.Duration{0, 100 * time.Millisecond} {
		proxy, err := faultproxy.Listen(b.Context(), faultproxy.Options{Target: s.Address(), Delay: rtt / 2})
		must(b, err)
		b.Cleanup(func() { must(b, proxy.Close()) })
		for _, by := range []FilesBy{FilesBoth, FilesSFTP} {
			g := openTarget(b, s, func(o *Options) { o.Port, o.AcceptNew, o.Files = proxy.Port(), true, by })
			far, near := filepath.Join(g.dir, "far"), filepath.Join(b.TempDir(), "near")
			must(b, os.WriteFile(far, content, 0o644))
			must(b, os.WriteFile(near, content, 0o644))
			for name, c := range map[string]struct{ ours, theirs func() }{
				"read": {
					func() {
						got, err := g.Set().Read.ReadFile(b.Context(), far, 0)
						if err != nil || !bytes.Equal(got, content) {
							b.Fatalf("%d bytes, %v", len(got), err)
						}
					},
					func() { openSFTP(b, s, proxy, "get "+far+" "+near) },
				},
				"write": {
					func() { _, err := g.Set().Write.WriteFile(b.Context(), far, content); must(b, err) },
					func() { openSFTP(b, s, proxy, "put "+near+" "+far) },
				},
			} {
				b.Run(fmt.Sprintf("%s/%s/%dms", by, name, rtt.Milliseconds()), func(b *testing.B) { byTurns(b, c.ours, c.theirs) })
			}
		}
	}
}

// byTurns reports the medians of two ways to do the same, and their ratio.
func byTurns(b *testing.B, ours, theirs func()) {
	b.Helper()
	var took [2][]time.Duration
	for b.Loop() {
		for i, do := range []func(){ours, theirs} {
			begin := time.Now()
			do()
			took[i] = append(took[i], time.Since(begin))
		}
	}
	var median [2]float64
	for i := range took {
		slices.Sort(took[i])
		median[i] = took[i][len(took[i])/2].Seconds()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median[0], "s-ours")
	b.ReportMetric(median[1], "s-theirs")
	b.ReportMetric(median[0]/median[1], "ratio")
}

// openSFTP runs a command of OpenSSH's sftp.
func openSFTP(b *testing.B, s *servers.SSHD, proxy *faultproxy.Proxy, command string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "sftp", "-q", "-b", "-", "-P", fmt.Sprint(proxy.Port()), "-i", s.IdentityFile,
		"-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", s.User+"@127.0.0.1")
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(command+"\n"), time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}
