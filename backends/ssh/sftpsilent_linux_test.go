package ssh

import (
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// A read whose server opens the file and then says no more ends as soon as the signs
// of life allow, as other calls do (hazards SSHC-02, SFTP-06).
func TestSSHC02ReadThatGoesSilentAfterItsOpening(t *testing.T) {
	t.Parallel()
	p := &pieces{content: []byte("content"), size: 3, stall: make(chan struct{})}
	f := startFake(t, func(f *fakeServer) { f.subsystem, f.deaf = p.serve, true })
	t.Cleanup(func() { close(p.stall) })
	o := f.options(t)
	o.Keepalive, o.KeepaliveCount = lifeSign, lifeSigns
	w, err := Open(t.Context(), o)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	const tries = 3 // a busy machine may delay single attempts
	var took time.Duration
	for range tries {
		begin := time.Now()
		_, err = w.Set().Read.ReadFile(t.Context(), "/stall", 0)
		took = time.Since(begin)
		wantKind(t, "read", err, ops.KindUnavailable)
		if took <= lifeBound {
			return
		}
	}
	t.Errorf("the read took %v, %v are allowed", took, lifeBound)
}
