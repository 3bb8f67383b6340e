package local

// supervisorThreads is how many processes and threads a supervisor takes with its
// command when it starts.
const supervisorThreads = 16

// noRoom reports that the container in which this process runs has so many processes
// and threads that a program which needs several can't start. Such a program ends with
// the words of its runtime, and says nothing.
func noRoom() bool {
	most := limit(pidsMax, pidsMaxOld)
	return most > 0 && limit(pidsCurrent, pidsCurrentOld)+supervisorThreads > most
}
