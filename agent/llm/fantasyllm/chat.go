package fantasyllm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/piremote/piremote/tools/tool"
)

// chat reads the chunks of the chat completions wire, which servers speak in many
// ways. The library tells calls apart by their index alone; chat gives each call
// an index and an id of its own where the server did not (hazard PROV-03).
type chat struct {
	exchange *exchange
	calls    []string    // the server's id of each call, in their order
	byIndex  map[int]int // call by the server's index
	used     map[string]bool
}

type chunk struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			ToolCalls []callDelta `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"` // OpenRouter
		} `json:"prompt_tokens_details"`
		CacheHit int64   `json:"prompt_cache_hit_tokens"` // DeepSeek
		Cached   int64   `json:"cached_tokens"`           // Kimi
		Cost     float64 `json:"cost"`                    // OpenRouter, US dollars
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (c *chat) read(data []byte) []byte {
	var e chunk
	if json.Unmarshal(data, &e) != nil {
		return data
	}
	if isError(e.Error) {
		c.exchange.said = saidError(data)
		return data
	}
	if u := e.Usage; u != nil && u.Prompt+u.Completion > 0 {
		cached := max(u.Details.Cached, u.CacheHit, u.Cached)
		c.exchange.usage = &tool.Usage{
			Input: max(0, u.Prompt-cached-u.Details.Written), Output: u.Completion,
			CacheRead: cached, CacheWrite: u.Details.Written, Cost: u.Cost,
		}
	}
	// The library takes {"error":null} for an error.
	var edits []edit
	if len(e.Error) > 0 {
		edits = append(edits, func(object map[string]any) { delete(object, "error") })
	}
	for i, choice := range e.Choices {
		if choice.FinishReason != "" {
			c.exchange.finish = choice.FinishReason
		}
		for j, delta := range choice.Delta.ToolCalls {
			if edit := c.place(i, j, delta); edit != nil {
				edits = append(edits, edit)
			}
		}
	}
	return edited(data, edits)
}

// place finds the call that a delta belongs to, and returns what makes the delta
// say so, if it does not.
func (c *chat) place(choice, at int, d callDelta) edit {
	call, known := c.find(d)
	id := d.ID
	if !known {
		if d.Function.Name == "" && d.Function.Arguments == "" {
			return nil // the library skips it
		}
		call = len(c.calls)
		c.calls = append(c.calls, d.ID)
		if c.used == nil {
			c.used, c.byIndex = map[string]bool{}, map[int]int{}
		}
		for n := 2; id != "" && c.used[id]; n++ {
			id = fmt.Sprintf("%s_%d", d.ID, n)
		}
		c.used[id] = true
		if d.Index != nil {
			c.byIndex[*d.Index] = call
		}
	}
	if d.Index != nil && *d.Index == call && id == d.ID {
		return nil
	}
	return func(object map[string]any) {
		choices, _ := object["choices"].([]any)
		choiceObject, _ := choices[choice].(map[string]any)
		delta, _ := choiceObject["delta"].(map[string]any)
		calls, _ := delta["tool_calls"].([]any)
		if o, ok := calls[at].(map[string]any); ok {
			o["index"] = call
			if id != "" {
				o["id"] = id
			}
		}
	}
}

// find returns the call that a delta continues. One that names a function under
// another id opens a call; one without an index is told by its id, and one with
// neither continues the last call, unless it names a function.
func (c *chat) find(d callDelta) (call int, known bool) {
	if d.Index != nil {
		call, known = c.byIndex[*d.Index]
		opens := known && d.Function.Name != "" && d.ID != "" && c.calls[call] != "" && d.ID != c.calls[call]
		return call, known && !opens
	}
	if d.ID != "" {
		for i := len(c.calls) - 1; i >= 0; i-- {
			if c.calls[i] == d.ID {
				return i, true
			}
		}
		return 0, false
	}
	return len(c.calls) - 1, len(c.calls) > 0 && d.Function.Name == ""
}

// edit changes an event.
type edit func(object map[string]any)

func edited(data []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return data
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return data
	}
	for _, e := range edits {
		e(object)
	}
	if changed, err := json.Marshal(object); err == nil {
		return changed
	}
	return data
}
