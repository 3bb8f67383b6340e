package tools

import (
	"fmt"
	"strings"

	"github.com/piremote/piremote/tools/textout"
)

// lister collects lines up to the model's limit of bytes.
type lister struct {
	b    strings.Builder
	full bool
}

func newLister() *lister { return &lister{} }

// add appends a line, or reports false because it would not fit.
func (l *lister) add(line string) bool {
	if l.full || l.b.Len()+len(line)+1 > textout.DefaultMaxBytes {
		l.full = true
		return false
	}
	if l.b.Len() > 0 {
		l.b.WriteByte('\n')
	}
	l.b.WriteString(line)
	return true
}

func (l *lister) text() string { return l.b.String() }

// note says that the limit was reached.
func (l *lister) note(notes []string) []string {
	if !l.full {
		return notes
	}
	return append(notes, fmt.Sprintf("%s limit reached; narrow the request to see the rest", textout.FormatSize(textout.DefaultMaxBytes)))
}
