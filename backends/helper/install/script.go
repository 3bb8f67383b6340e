package install

import (
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/internal/oneline"
)

//go:embed sh/start.sh
var startScript string

// marker is the random text that begins the lines of the start script. The script
// holds it in two halves, so that what echoes the script does not say the marker.
type marker [2]string

func newMarker() marker {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return marker{hex.EncodeToString(b[:8]), hex.EncodeToString(b[8:])}
}

// String is the whole marker.
func (m marker) String() string { return m[0] + m[1] }

// argv are the words that start the helper by a POSIX shell: constants of this
// package, hashes and the marker.
func argv(b Bundle, m marker, word string) []string {
	var s strings.Builder
	fmt.Fprintf(&s, "p_a=%s;p_b=%s;p_c=%s;p_h=;p_s=$(uname -s -m 2>/dev/null);case $p_s in ", m[0], m[1], word)
	for _, p := range b.programs {
		fmt.Fprintf(&s, "%s) p_o=%s;p_k=%s;p_h=%s;p_z=%d;p_n=%d;p_v=%q ;; ",
			machine(p), p.OS, p.Arch, p.Hash, len(p.packed), p.Size, helper.VersionLine(p.OS, p.Arch))
	}
	s.WriteString("esac;" + oneline.Join(startScript))
	return []string{"/bin/sh", "-c", s.String()}
}

// machine is a shell pattern for what uname says of the machines that a program
// runs on.
func machine(p Program) string {
	names := map[string][]string{"amd64": {"x86_64", "amd64"}, "arm64": {"aarch64", "arm64"}}[p.Arch]
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = `"Linux ` + name + `"`
	}
	return strings.Join(patterns, "|")
}
