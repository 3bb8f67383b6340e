package local

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// containerLimits counts how often processes of the container in which this one runs
// were refused or ended for its limits. It has them at fixed places. Outside of a
// container these are of the whole machine, or not there.
type containerLimits struct{ kills, refusals int64 }

// Places of counters and limits, those of the second version of control groups first.
const (
	memoryEvents    = "/sys/fs/cgroup/memory.events"
	memoryMax       = "/sys/fs/cgroup/memory.max"
	memoryEventsOld = "/sys/fs/cgroup/memory/memory.oom_control"
	memoryMaxOld    = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	pidsEvents      = "/sys/fs/cgroup/pids.events"
	pidsMax         = "/sys/fs/cgroup/pids.max"
	pidsEventsOld   = "/sys/fs/cgroup/pids/pids.events"
	pidsMaxOld      = "/sys/fs/cgroup/pids/pids.max"
	pidsCurrent     = "/sys/fs/cgroup/pids.current"
	pidsCurrentOld  = "/sys/fs/cgroup/pids/pids.current"
)

// countLimits looks how often it was so far.
func countLimits() containerLimits {
	return containerLimits{
		kills:    counter("oom_kill", memoryEvents, memoryEventsOld),
		refusals: counter("max", pidsEvents, pidsEventsOld),
	}
}

// hit says in a clause each which limits were reached since then.
func (before containerLimits) hit() (clauses []string) {
	now := countLimits()
	if n := limit(memoryMax, memoryMaxOld); now.kills > before.kills && n > 0 {
		clauses = append(clauses, fmt.Sprintf("out of memory: processes were killed at the container's limit of %d MiB", n>>20))
	}
	if n := limit(pidsMax, pidsMaxOld); now.refusals > before.refusals && n > 0 {
		clauses = append(clauses, fmt.Sprintf("no further process could be started at the container's limit of %d", n))
	}
	return clauses
}

// counter reads a line "name number" of the first file that there is.
func counter(name string, files ...string) int64 {
	for line := range bytes.Lines(first(files)) {
		if key, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); ok && string(key) == name {
			n, _ := strconv.ParseInt(string(value), 10, 64) // 0 is no news
			return n
		}
	}
	return 0
}

// limit reads a number of the first file that there is; 0 means that there is none.
func limit(files ...string) int64 {
	const none = 1 << 60 // the first version writes a very large number
	n, err := strconv.ParseInt(string(bytes.TrimSpace(first(files))), 10, 64)
	if err != nil || n >= none {
		return 0
	}
	return n
}

func first(files []string) []byte {
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			return data
		}
	}
	return nil
}
