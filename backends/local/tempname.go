package local

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Temporary files are named by prefix, 16 hexadecimal digits, and suffix. The
// digits say who writes the file: 16 bits for the machine since it was started,
// 22 for the process, 16 for when that began, and 10 that count (hazard WRIT-06).
const (
	tempPrefix = ".piremote-"
	tempSuffix = ".tmp"
	tempDigits = 16

	countBits = 10
	startBits = 16
	pidBits   = 22
)

// tempTries is how often another name is tried when one is taken.
const tempTries = 1 << countBits

// staleAge is the age from which on a temporary file whose writer can't be asked
// for, such as one of another machine or from before the last start of this one,
// counts as left behind.
const staleAge = time.Hour

// isTemp reports whether a name is one that only our temporary files have.
func isTemp(name string) bool {
	id, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return false
	}
	id, ok = strings.CutSuffix(id, tempSuffix)
	return ok && len(id) == tempDigits && strings.Trim(id, "0123456789abcdef") == ""
}

// writer is who writes a temporary file, as far as its name tells.
type writer struct {
	machine uint16 // zero: not known
	pid     int
	start   uint16
}

// tempNames gives out names. It is safe for concurrent use.
type tempNames struct {
	self writer
	last atomic.Uint32
}

func (n *tempNames) next() string { return tempName(n.self, n.last.Add(1)) }

func tempName(w writer, count uint32) string {
	id := uint64(w.machine)
	id = id<<pidBits | uint64(w.pid)&(1<<pidBits-1) //nolint:gosec // never negative
	id = id<<startBits | uint64(w.start)
	id = id<<countBits | uint64(count)&(1<<countBits-1)
	return fmt.Sprintf("%s%0*x%s", tempPrefix, tempDigits, id, tempSuffix)
}

// writerOf is the inverse of tempName, for names of which isTemp is true.
func writerOf(name string) writer {
	id, _ := strconv.ParseUint(name[len(tempPrefix):len(name)-len(tempSuffix)], 16, 64)
	id >>= countBits
	start := uint16(id) //nolint:gosec // the low bits
	id >>= startBits
	return writer{machine: uint16(id >> pidBits), pid: int(id & (1<<pidBits - 1)), start: start}
}
