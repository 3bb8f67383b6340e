// Package largebuf makes memory for the content of large files.
package largebuf

// from is the size in bytes from which large pages are worth a system call.
const from = 4 << 20

// Make returns n zero bytes. The system is asked to give large ones in large pages:
// where a page fault is dear, as in virtual machines, the first use of 100 MB costs
// a second otherwise.
func Make(n int) []byte {
	b := make([]byte, n)
	if n >= from {
		advise(b)
	}
	return b
}
