package llm

import (
	"encoding/json"

	"github.com/piremote/piremote/tools/tool"
)

// The JSON forms of what the product adds to a conversation.

// MarshalJSON writes {"role":"bashExecution",…}.
func (b *BashExecution) MarshalJSON() ([]byte, error) {
	type fields BashExecution
	return json.Marshal(struct {
		Role string `json:"role"`
		*fields
	}{"bashExecution", (*fields)(b)})
}

// MarshalJSON writes {"role":"custom",…}.
func (c *Custom) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Role       string          `json:"role"`
		CustomType string          `json:"customType"`
		Content    []any           `json:"content"`
		Display    bool            `json:"display"`
		Details    json.RawMessage `json:"details,omitempty"`
		Timestamp  int64           `json:"timestamp"`
	}{"custom", c.CustomType, ContentJSON(c.Content), c.Display, c.Details, c.Timestamp})
}

// MarshalJSON writes {"role":"branchSummary",…}.
func (b *BranchSummary) MarshalJSON() ([]byte, error) {
	type fields BranchSummary
	return json.Marshal(struct {
		Role string `json:"role"`
		*fields
	}{"branchSummary", (*fields)(b)})
}

// MarshalJSON writes {"role":"compactionSummary",…}.
func (c *CompactionSummary) MarshalJSON() ([]byte, error) {
	type fields CompactionSummary
	return json.Marshal(struct {
		Role string `json:"role"`
		*fields
	}{"compactionSummary", (*fields)(c)})
}

// MarshalJSON writes the message as it came.
func (o *Other) MarshalJSON() ([]byte, error) { return o.JSON.MarshalJSON() }

// usageJSON is a Usage with the sums that readers of sessions expect. The cost
// is known as a whole only.
type usageJSON tool.Usage

type costJSON struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

func (u usageJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Input       int64    `json:"input"`
		Output      int64    `json:"output"`
		CacheRead   int64    `json:"cacheRead"`
		CacheWrite  int64    `json:"cacheWrite"`
		TotalTokens int64    `json:"totalTokens"`
		Cost        costJSON `json:"cost"`
	}{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Input + u.Output + u.CacheRead + u.CacheWrite, costJSON{Total: u.Cost}})
}

// UnmarshalJSON takes the cost as a number, or as an object with a total.
func (u *usageJSON) UnmarshalJSON(data []byte) error {
	var in struct {
		Input, Output, CacheRead, CacheWrite int64
		Cost                                 json.RawMessage
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*u = usageJSON{Input: in.Input, Output: in.Output, CacheRead: in.CacheRead, CacheWrite: in.CacheWrite}
	if len(in.Cost) > 0 && in.Cost[0] == '{' {
		var cost costJSON
		err := json.Unmarshal(in.Cost, &cost)
		u.Cost = cost.Total
		return err
	}
	if len(in.Cost) > 0 {
		return json.Unmarshal(in.Cost, &u.Cost)
	}
	return nil
}

// MarshalUsage is the JSON of a Usage as messages carry it.
func MarshalUsage(u tool.Usage) (json.RawMessage, error) { return json.Marshal(usageJSON(u)) }

// UnmarshalUsage reads what MarshalUsage writes, and a cost that is one number.
func UnmarshalUsage(data []byte) (tool.Usage, error) {
	var u usageJSON
	err := json.Unmarshal(data, &u)
	return tool.Usage(u), err
}
