//go:build unix && !linux

package local

// fionread asks for the number of bytes that can be read; the value is the same
// on macOS and the BSDs.
const fionread = 0x4004667f
