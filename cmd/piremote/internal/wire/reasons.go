package wire

import (
	"strings"
	"sync"
)

// reasons passes notices on and keeps those that findings tell of.
type reasons struct {
	next func(string) // nil drops them

	mu   sync.Mutex
	list []string
}

func (r *reasons) notice(text string) {
	r.mu.Lock()
	r.list = append(r.list, text)
	r.mu.Unlock()
	if r.next != nil {
		r.next(text)
	}
}

// withoutHelper is why the helper is not used.
func (r *reasons) withoutHelper() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.list {
		if _, reason, ok := strings.Cut(text, "working without the helper: "); ok {
			return reason
		}
	}
	return "it is switched off"
}
