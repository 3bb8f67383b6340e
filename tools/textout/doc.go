// Package textout makes output fit for its reader: it keeps the end of an
// endless stream in bounded memory, cuts text at lines and characters, removes
// what would steer a terminal, and spells names that cannot be printed.
//
// It is a leaf: it knows no tool and no backend.
package textout

// The limits of model-visible text: lines, and bytes of UTF-8, whichever is
// reached first.
const (
	DefaultMaxLines = 2000
	DefaultMaxBytes = 50 * 1024
)

// Limits bounds a text. Zero fields mean the defaults.
type Limits struct {
	Lines int
	Bytes int
}

func (l Limits) orDefaults() Limits {
	if l.Lines <= 0 {
		l.Lines = DefaultMaxLines
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultMaxBytes
	}
	return l
}
