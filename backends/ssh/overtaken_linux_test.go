package ssh

import (
	"io"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// A status does not vouch for output that a link swallowed as it broke (hazard
// SSHX-04).
func TestSSHX04StatusThatOvertookOutputOfABrokenLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    func(f *fakeServer, ch gossh.Channel)
		change func(*Options)
	}{
		"broken": {func(f *fakeServer, _ gossh.Channel) { f.dropAll() }, nil},
		// It takes longer to see than the silence after which output counts as ended.
		"silent": {func(*fakeServer, gossh.Channel) {}, func(o *Options) { o.Keepalive, o.KeepaliveCount = silence+time.Second, 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t, func(f *fakeServer) {
				f.deaf = true
				f.exec = func(ch gossh.Channel, _ string) {
					_, _ = io.WriteString(ch, "half")
					_, _ = ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Code uint32 }{0}))
					c.end(f, ch)
				}
			})
			var out strings.Builder
			status, err := runner{f.connect(t, c.change)}.Run(t.Context(), posix.Process{Argv: []string{"x"}, Stdout: func(p []byte) { out.Write(p) }})
			wantKind(t, "half an output", err, ops.KindOutcomeUnknown, "lost")
			if out.String() != "half" {
				t.Errorf("%q, %+v", out.String(), status)
			}
		})
	}
}
