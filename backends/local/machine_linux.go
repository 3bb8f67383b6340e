package local

import (
	"hash/fnv"
	"os"
)

// machine names what process numbers count on: this machine since it was
// started, and the namespace of process numbers. It is zero if that is not known.
func machine() uint16 {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write(append(boot, namespace...)) // never fails
	sum := h.Sum32()
	return max(uint16(sum^sum>>16), 1) //nolint:gosec // folded
}
