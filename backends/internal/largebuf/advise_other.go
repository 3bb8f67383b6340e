//go:build !linux

package largebuf

func advise([]byte) {}
