package call

import (
	"fmt"
	"slices"
	"sync"

	"github.com/piremote/piremote/tools/tool"
)

// Toolbox holds the tools of a session, of which some are active: those that are
// advertised and can be called. A loader tool names further ones in its
// result's AddedToolNames; they are active from the next request on. Give Active
// to the Tools of an Executor and of an agent, and Activate to the agent. It is
// safe for concurrent use.
type Toolbox struct {
	mu     sync.Mutex
	all    []tool.Tool
	on     map[string]bool
	active []tool.Tool // replaced, never changed
}

// NewToolbox registers tools, of which those of the given names are active. Two
// tools of one name, and a name without a tool, are errors.
func NewToolbox(registered []tool.Tool, active ...string) (*Toolbox, error) {
	b := &Toolbox{all: slices.Clone(registered), on: map[string]bool{}}
	known := map[string]bool{}
	for _, t := range registered {
		name := t.Info().Name
		if known[name] {
			return nil, fmt.Errorf("two tools are named %q: rename one of them", name)
		}
		known[name] = true
	}
	for _, name := range active {
		if !known[name] {
			return nil, fmt.Errorf("the active tool %q is not registered", name)
		}
	}
	b.Activate(active)
	return b, nil
}

// Active lists the active tools in the order of their registration. The caller
// does not change it.
func (b *Toolbox) Active() []tool.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.active
}

// Activate adds the tools of these names to the active ones. Names that are not
// registered are skipped: a call of one is answered as that of any unknown tool.
func (b *Toolbox) Activate(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		b.on[name] = true
	}
	var active []tool.Tool
	for _, t := range b.all {
		if b.on[t.Info().Name] {
			active = append(active, t)
		}
	}
	b.active = active
}
