package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// Model is a model that can be asked, with what is known of it.
type Model struct {
	Provider llm.Provider
	Info     ModelInfo
}

// ModelInfo describes a model. Costs are US dollars for a million tokens; the
// sizes are tokens, 0 if unknown.
type ModelInfo struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	API           string    `json:"api"`
	Provider      string    `json:"provider"`
	BaseURL       string    `json:"baseUrl"`
	Reasoning     bool      `json:"reasoning"`
	Input         []string  `json:"input"` // text, image
	ContextWindow int64     `json:"contextWindow"`
	MaxTokens     int64     `json:"maxTokens"`
	Cost          ModelCost `json:"cost"`
	// ThinkingLevels are those that the model takes; empty means those that all
	// take that reason.
	ThinkingLevels []string `json:"-"`
}

// ModelCost is what a million tokens cost in US dollars.
type ModelCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// Levels are the thinking levels that can be chosen for the model.
func (m ModelInfo) Levels() []string {
	switch {
	case !m.Reasoning:
		return []string{"off"}
	case len(m.ThinkingLevels) > 0:
		levels := slices.DeleteFunc(slices.Clone(m.ThinkingLevels), func(l string) bool { return l == "none" || l == "off" })
		return append([]string{"off"}, levels...)
	}
	return []string{"off", "minimal", "low", "medium", "high"}
}

// AvailableModels lists the models that SetModel can choose.
func (s *Session) AvailableModels() []ModelInfo {
	if s.options.Models == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return []ModelInfo{s.model.Info}
	}
	return s.options.Models()
}

// SetModel chooses the model that is asked from the next answer on.
func (s *Session) SetModel(ctx context.Context, provider, id string) (ModelInfo, error) {
	known := slices.ContainsFunc(s.AvailableModels(), func(m ModelInfo) bool { return m.Provider == provider && m.ID == id })
	s.mu.Lock()
	model := s.model
	s.mu.Unlock()
	if model.Info.Provider != provider || model.Info.ID != id {
		if !known || s.options.OpenModel == nil {
			return ModelInfo{}, fmt.Errorf("Model not found: %s/%s", provider, id)
		}
		var err error
		if model, err = s.options.OpenModel(ctx, provider, id); err != nil {
			return ModelInfo{}, err
		}
	}
	s.mu.Lock()
	s.model = model
	level := s.thinking
	s.mu.Unlock()
	if err := s.put(store.ModelChange{Provider: provider, ModelID: id}); err != nil {
		return model.Info, err
	}
	OnModelSelect.tell(ctx, s.hooks, model.Info)
	if level != "" && !slices.Contains(model.Info.Levels(), level) {
		levels := model.Info.Levels()
		return model.Info, s.SetThinking(ctx, levels[len(levels)-1])
	}
	return model.Info, nil
}

// CycleModel chooses the next model of the list; ok is false if there is only one.
func (s *Session) CycleModel(ctx context.Context) (m ModelInfo, ok bool, err error) {
	models := s.AvailableModels()
	if len(models) < 2 {
		return ModelInfo{}, false, nil
	}
	now := s.State().Model
	i := slices.IndexFunc(models, func(m ModelInfo) bool { return m.Provider == now.Provider && m.ID == now.ID })
	next := models[(i+1)%len(models)]
	m, err = s.SetModel(ctx, next.Provider, next.ID)
	return m, err == nil, err
}

// SetThinking chooses how much the model thinks from the next answer on.
func (s *Session) SetThinking(ctx context.Context, level string) error {
	s.mu.Lock()
	levels := s.model.Info.Levels()
	if !slices.Contains(levels, level) {
		s.mu.Unlock()
		return fmt.Errorf("thinking level %q is none of %v, which the model has", level, levels)
	}
	same := s.thinking == level
	s.thinking = level
	s.mu.Unlock()
	if same {
		return nil
	}
	if err := s.put(store.ThinkingLevelChange{ThinkingLevel: level}); err != nil {
		return err
	}
	changed := ThinkingLevelChanged{level}
	s.emit(changed)
	OnThinkingLevelSelect.tell(ctx, s.hooks, changed)
	return nil
}

// CycleThinking chooses the next level; ok is false if there is only one.
func (s *Session) CycleThinking(ctx context.Context) (level string, ok bool, err error) {
	state := s.State()
	levels := state.Model.Levels()
	if len(levels) < 2 {
		return "", false, nil
	}
	level = levels[(slices.Index(levels, state.Thinking)+1)%len(levels)]
	return level, true, s.SetThinking(ctx, level)
}

// provider asks the model that is chosen when a request goes out.
type provider struct{ s *Session }

func (p provider) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	s := p.s
	s.mu.Lock()
	model := s.model
	req.Thinking, req.System, req.SessionID = s.thinking, s.system, s.log.Header().ID
	s.mu.Unlock()
	req, err := OnBeforeProviderRequest.ask(ctx, s.hooks, req)
	if err != nil {
		return nil, err
	}
	answer, err := model.Provider.Stream(ctx, req, emit)
	s.mu.Lock()
	s.failure = err
	s.mu.Unlock()
	OnAfterProviderResponse.tell(ctx, s.hooks, ProviderResponse{answer, err})
	return answer, err
}
