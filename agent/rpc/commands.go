package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// handler runs one kind of command. What it returns is the data of the response.
type handler struct {
	do func(ctx context.Context, s *server, c command) (any, error)
	// aside lets later commands begin before it has ended.
	aside bool
	// overtakes begins at once.
	overtakes bool
}

// nothing is the data of a response that has none.
type nothing struct{}

type object = map[string]any

// handlers are the commands by their type.
var handlers = map[string]handler{
	"prompt":       {do: prompt},
	"steer":        {do: queue(session.Steer)},
	"follow_up":    {do: queue(session.FollowUp)},
	"abort":        {do: abort, aside: true},
	"clear_queue":  {do: clearQueue},
	"get_state":    {do: getState},
	"get_messages": {do: getMessages},
	"get_commands": {do: getCommands},

	"set_model":                     {do: setModel},
	"cycle_model":                   {do: cycleModel},
	"get_available_models":          {do: getModels},
	"set_thinking_level":            {do: setThinking},
	"cycle_thinking_level":          {do: cycleThinking},
	"get_available_thinking_levels": {do: getThinkingLevels},
	"set_steering_mode":             {do: setSteeringMode},
	"set_follow_up_mode":            {do: setFollowUpMode},

	"compact":             {do: compact, aside: true},
	"set_auto_compaction": {do: setAutoCompaction},
	"set_auto_retry":      {do: setAutoRetry},
	"abort_retry":         {do: abortRetry, overtakes: true},
	"bash":                {do: bash, aside: true},
	"abort_bash":          {do: abortBash, overtakes: true},

	"new_session":             {do: newSession},
	"switch_session":          {do: switchSession},
	"fork":                    {do: fork},
	"clone":                   {do: clone},
	"get_fork_messages":       {do: getForkMessages},
	"get_entries":             {do: getEntries},
	"get_tree":                {do: getTree},
	"get_last_assistant_text": {do: getLastText},
	"get_session_stats":       {do: getStats},
	"set_session_name":        {do: setName},
	"export_html":             {do: exportHTML},
}

func (c command) input(b session.Behavior) (session.Input, error) {
	in := session.Input{Text: c.Message, Behavior: b, Source: "rpc"}
	for n, i := range c.Images {
		if i.Type != "image" || len(i.Data) == 0 || i.MIMEType == "" {
			return in, fmt.Errorf("image %d is none: it needs type \"image\", data in base64 and a mimeType", n+1)
		}
		in.Images = append(in.Images, tool.Image{Data: i.Data, MIMEType: i.MIMEType})
	}
	return in, nil
}

func prompt(ctx context.Context, s *server, c command) (any, error) {
	switch b := session.Behavior(c.StreamingBehavior); b {
	case "", session.Steer, session.FollowUp:
		in, err := c.input(b)
		if err != nil {
			return nil, err
		}
		d, err := s.Session.Submit(ctx, in)
		if errors.Is(err, session.ErrRunning) {
			err = errors.New("a run is under way: give streamingBehavior \"steer\" or \"followUp\" to queue the message")
		}
		return object{"disposition": d}, err
	}
	return nil, fmt.Errorf("streamingBehavior %q is none of steer, followUp", c.StreamingBehavior)
}

func queue(b session.Behavior) func(context.Context, *server, command) (any, error) {
	return func(ctx context.Context, s *server, c command) (any, error) {
		in, err := c.input(b)
		if err != nil {
			return nil, err
		}
		d, err := s.Session.Queue(ctx, in)
		return object{"disposition": d}, err
	}
}

func abort(ctx context.Context, s *server, _ command) (any, error) {
	return nothing{}, s.Session.Abort(ctx)
}

func clearQueue(_ context.Context, s *server, _ command) (any, error) {
	steering, followUps := s.Session.ClearQueue()
	return object{"steering": steering, "followUp": followUps}, nil
}

func queueMode(all bool) string {
	if all {
		return "all"
	}
	return "one-at-a-time"
}

func getState(_ context.Context, s *server, _ command) (any, error) {
	state := s.Session.State()
	o := object{
		"thinkingLevel": level(state.Thinking), "isStreaming": state.Running, "isCompacting": state.Compacting,
		"steeringMode": queueMode(state.SteerAll), "followUpMode": queueMode(state.FollowUpAll),
		"sessionId": state.SessionID, "autoCompactionEnabled": state.AutoCompaction,
		"messageCount": state.Messages, "pendingMessageCount": state.Pending,
	}
	if state.Model.ID != "" {
		o["model"] = state.Model
	}
	if state.Path != "" {
		o["sessionFile"] = state.Path
	}
	if state.Name != "" {
		o["sessionName"] = state.Name
	}
	return o, nil
}

// level spells a thinking level; none that was chosen is off.
func level(name string) string {
	if name == "" {
		return "off"
	}
	return name
}

func getMessages(_ context.Context, s *server, _ command) (any, error) {
	return object{"messages": s.Session.Messages()}, nil
}

// getCommands lists what a prompt may begin with a slash: nothing yet.
func getCommands(context.Context, *server, command) (any, error) {
	return object{"commands": []any{}}, nil
}

func setModel(ctx context.Context, s *server, c command) (any, error) {
	return s.Session.SetModel(ctx, c.Provider, c.ModelID)
}

func cycleModel(ctx context.Context, s *server, _ command) (any, error) {
	m, ok, err := s.Session.CycleModel(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return object{"model": m, "thinkingLevel": level(s.Session.State().Thinking), "isScoped": false}, nil
}

func getModels(_ context.Context, s *server, _ command) (any, error) {
	return object{"models": s.Session.AvailableModels()}, nil
}

func setThinking(ctx context.Context, s *server, c command) (any, error) {
	return nothing{}, s.Session.SetThinking(ctx, c.Level)
}

func cycleThinking(ctx context.Context, s *server, _ command) (any, error) {
	name, ok, err := s.Session.CycleThinking(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return object{"level": name}, nil
}

func getThinkingLevels(_ context.Context, s *server, _ command) (any, error) {
	return object{"levels": s.Session.State().Model.Levels()}, nil
}

func parseMode(c command) (all bool, err error) {
	if c.Mode != "all" && c.Mode != "one-at-a-time" {
		return false, fmt.Errorf("mode %q is none of all, one-at-a-time", c.Mode)
	}
	return c.Mode == "all", nil
}

func setSteeringMode(_ context.Context, s *server, c command) (any, error) {
	all, err := parseMode(c)
	if err == nil {
		s.Session.SetQueueModes(all, s.Session.State().FollowUpAll)
	}
	return nothing{}, err
}

func setFollowUpMode(_ context.Context, s *server, c command) (any, error) {
	all, err := parseMode(c)
	if err == nil {
		s.Session.SetQueueModes(s.Session.State().SteerAll, all)
	}
	return nothing{}, err
}

func compact(ctx context.Context, s *server, c command) (any, error) {
	return s.Session.Compact(ctx, c.CustomInstructions)
}

func setAutoCompaction(_ context.Context, s *server, c command) (any, error) {
	if c.Enabled == nil {
		return nil, errors.New("set_auto_compaction needs enabled, true or false")
	}
	s.Session.SetAutoCompaction(*c.Enabled)
	return nothing{}, nil
}

func setAutoRetry(_ context.Context, s *server, c command) (any, error) {
	if c.Enabled == nil {
		return nil, errors.New("set_auto_retry needs enabled, true or false")
	}
	s.Session.SetAutoRetry(*c.Enabled)
	return nothing{}, nil
}

func abortRetry(_ context.Context, s *server, _ command) (any, error) {
	s.Session.AbortRetry()
	return nothing{}, nil
}

func bash(ctx context.Context, s *server, c command) (any, error) {
	if c.Command == "" {
		return nil, errors.New("bash needs a command")
	}
	return s.Session.Bash(ctx, c.id(), c.Command, c.ExcludeFromContext)
}

func abortBash(_ context.Context, s *server, _ command) (any, error) {
	s.Session.AbortBash()
	return nothing{}, nil
}

func newSession(ctx context.Context, s *server, c command) (any, error) {
	cancelled, err := s.Session.Renew(ctx, c.ParentSession)
	return object{"cancelled": cancelled}, err
}

func switchSession(ctx context.Context, s *server, c command) (any, error) {
	if c.SessionPath == "" {
		return nil, errors.New("switch_session needs a sessionPath")
	}
	cancelled, err := s.Session.Switch(ctx, c.SessionPath)
	return object{"cancelled": cancelled}, err
}

func fork(ctx context.Context, s *server, c command) (any, error) {
	text, cancelled, err := s.Session.Fork(ctx, c.EntryID)
	if cancelled {
		return object{"cancelled": true}, err
	}
	return object{"text": text, "cancelled": false}, err
}

func clone(ctx context.Context, s *server, _ command) (any, error) {
	cancelled, err := s.Session.Clone(ctx)
	return object{"cancelled": cancelled}, err
}

func getForkMessages(_ context.Context, s *server, _ command) (any, error) {
	return object{"messages": s.Session.ForkMessages()}, nil
}

// leafID is the id of the present leaf, or nil.
func leafID(l *store.Log) any {
	if leaf := l.Leaf(); leaf != "" {
		return leaf
	}
	return nil
}

func getEntries(_ context.Context, s *server, c command) (any, error) {
	log := s.Session.Log()
	entries := log.Entries()
	if c.Since != nil {
		i := slices.IndexFunc(entries, func(e store.Entry) bool { return e.Meta().ID == *c.Since })
		if i < 0 {
			return nil, fmt.Errorf("Entry not found: %s", *c.Since) //nolint:staticcheck // the sentence of the wire
		}
		entries = entries[i+1:]
	}
	list := []json.RawMessage{}
	for _, e := range entries {
		line, err := store.JSON(e)
		if err != nil {
			return nil, err
		}
		list = append(list, line)
	}
	return object{"entries": list, "leafId": leafID(log)}, nil
}

func getTree(_ context.Context, s *server, _ command) (any, error) {
	log := s.Session.Log()
	tree, err := nodes(log.Tree())
	return object{"tree": tree, "leafId": leafID(log)}, err
}

func nodes(list []*store.Node) ([]object, error) {
	all := []object{}
	for _, n := range list {
		entry, err := store.JSON(n.Entry)
		if err != nil {
			return nil, err
		}
		children, err := nodes(n.Children)
		if err != nil {
			return nil, err
		}
		o := object{"entry": entry, "children": children}
		if n.Label != "" {
			o["label"], o["labelTimestamp"] = n.Label, n.LabelTime
		}
		all = append(all, o)
	}
	return all, nil
}

func getLastText(_ context.Context, s *server, _ command) (any, error) {
	if text, ok := s.Session.LastText(); ok {
		return object{"text": text}, nil
	}
	return object{"text": nil}, nil
}

func getStats(_ context.Context, s *server, _ command) (any, error) {
	stats := s.Session.Stats()
	u := stats.Usage
	o := object{
		"sessionId": stats.SessionID, "userMessages": stats.UserMessages, "assistantMessages": stats.AssistantMessages,
		"toolCalls": stats.ToolCalls, "toolResults": stats.ToolResults, "totalMessages": stats.TotalMessages,
		"tokens": object{
			"input": u.Input, "output": u.Output, "cacheRead": u.CacheRead, "cacheWrite": u.CacheWrite,
			"total": u.Input + u.Output + u.CacheRead + u.CacheWrite,
		},
		"cost": u.Cost,
	}
	if stats.Path != "" {
		o["sessionFile"] = stats.Path
	}
	if stats.ContextWindow > 0 {
		o["contextUsage"] = object{
			"tokens": stats.ContextTokens, "contextWindow": stats.ContextWindow,
			"percent": float64(stats.ContextTokens) * 100 / float64(stats.ContextWindow),
		}
	}
	return o, nil
}

func setName(ctx context.Context, s *server, c command) (any, error) {
	return nothing{}, s.Session.SetName(ctx, strings.TrimSpace(c.Name))
}

func exportHTML(ctx context.Context, s *server, c command) (any, error) {
	if s.Export == nil {
		return nil, errors.New("this session can't be exported")
	}
	path, err := s.Export(ctx, c.OutputPath)
	return object{"path": path}, err
}
