package match

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/piremote/piremote/tools/textout"
)

// DefaultBudget is how many bytes of files a search fetches from a target that can't
// search itself.
const DefaultBudget = 128 << 20

// Budget is what a search may fetch of files. Those behind its end are not searched,
// which Notes tells; what was found before stays. It is for one search, and safe for
// concurrent use.
type Budget struct {
	mu      sync.Mutex
	all     int64
	spent   int64
	skipped int
}

// NewBudget returns a budget of some bytes, at least 1.
func NewBudget(bytes int64) *Budget { return &Budget{all: max(bytes, 1)} }

// Allows reports whether a file may be fetched; if not, it counts as skipped. Ignore
// rules always may: without them other files would be searched.
func (b *Budget) Allows(name string) bool {
	if HoldsRules(name) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent < b.all {
		return true
	}
	b.skipped++
	return false
}

// Spend notes that bytes of a file were fetched.
func (b *Budget) Spend(name string, bytes int) {
	if HoldsRules(name) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += int64(bytes)
}

// Notes says what was left out, if anything was.
func (b *Budget) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.skipped == 0 {
		return nil
	}
	files, were := "files", "were"
	if b.skipped == 1 {
		files, were = "file", "was"
	}
	return []string{fmt.Sprintf("%d %s %s not searched: files travel from this target to be searched, at most %s of them; narrow the search with path or glob",
		b.skipped, files, were, textout.FormatSize(b.all))}
}

// HoldsRules reports whether a file holds ignore rules.
func HoldsRules(name string) bool {
	return strings.HasSuffix(name, "/.gitignore") || strings.HasSuffix(name, "/.git/info/exclude")
}

// Within is fsys with a budget: what may not be fetched holds nothing. It streams no
// files, and so is not for an Opener.
func (b *Budget) Within(fsys FileSystem) FileSystem { return budgeted{fsys, b} }

type budgeted struct {
	FileSystem
	budget *Budget
}

func (f budgeted) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if !f.budget.Allows(name) {
		return nil, nil
	}
	data, err := f.FileSystem.ReadFile(ctx, name, limit)
	f.budget.Spend(name, len(data))
	return data, err
}
