//go:build !linux

package local

// supervisors is empty: only Linux has them.
type supervisors struct{}

func newSupervisors() supervisors { return supervisors{} }

func (*supervisors) close() {}
