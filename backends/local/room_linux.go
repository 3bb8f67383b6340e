package local

import (
	"bytes"
	"os"
	"strconv"
)

// supervisorThreads is how many processes and threads a supervisor takes with its
// command when it starts.
const supervisorThreads = 16

// noRoom reports that the container in which this process runs has so many processes
// and threads that a program which needs several can't start. Such a program ends with
// the words of its runtime, and says nothing.
func noRoom() bool {
	for _, dir := range []string{"/sys/fs/cgroup/pids/", "/sys/fs/cgroup/"} {
		limit, err := number(dir + "pids.max")
		if err != nil {
			continue // there is none
		}
		n, err := number(dir + "pids.current")
		return err == nil && n+supervisorThreads > limit
	}
	return false
}

func number(file string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
}
