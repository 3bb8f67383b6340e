//go:build !linux

package local

// trade gives the new file the name of the one that was seen. Two names can't be
// exchanged here: what another program did since the last look is lost.
func (j job) trade(temp *tempFile) (traded bool, err error) {
	return false, temp.publish(j.base, false)
}

func (j job) displaced(*tempFile) (kept string) { return "" }
