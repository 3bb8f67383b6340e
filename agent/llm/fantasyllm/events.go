package fantasyllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"charm.land/fantasy"

	"github.com/piremote/piremote/tools/tool"
)

// reader chooses what reads the events of a wire.
func (x *exchange) reader(path string) func(data []byte) []byte {
	switch {
	case x.options.Type == Anthropic:
		return x.readMessage
	case x.options.Type == Google:
		return x.readContent
	case strings.HasSuffix(path, "/responses"):
		return x.readResponse
	}
	return (&chat{exchange: x}).read
}

// readMessage reads an event of Anthropic's.
func (x *exchange) readMessage(data []byte) []byte {
	var e struct {
		Type  string   `json:"type"`
		Error envelope `json:"error"`
	}
	if json.Unmarshal(data, &e) == nil && e.Type == "error" {
		x.said = e.Error.said()
	}
	return data
}

// readResponse reads an event of OpenAI's Responses API.
func (x *exchange) readResponse(data []byte) []byte {
	var e struct {
		Type     string `json:"type"`
		Response struct {
			Error             *envelope `json:"error"`
			IncompleteDetails struct {
				Reason string `json:"reason"`
			} `json:"incomplete_details"`
		} `json:"response"`
		Error json.RawMessage `json:"error"`
	}
	if !bytes.Contains(data, []byte(`"error"`)) && !bytes.Contains(data, []byte(`"response.`)) || json.Unmarshal(data, &e) != nil {
		return data
	}
	switch e.Type {
	case "response.completed", "response.incomplete":
		x.finish = strings.TrimPrefix(e.Type, "response.")
		if reason := e.Response.IncompleteDetails.Reason; reason != "" {
			x.finish = reason
		}
	case "response.failed":
		x.said = saying{Message: "the response failed"}
		if e.Response.Error != nil {
			x.said = e.Response.Error.said()
		}
	case "error":
		x.said = saidError(data)
	default:
		if isError(e.Error) {
			x.said = saidError(data)
		}
	}
	return data
}

// readContent reads an event of Google's. What it counts is the whole so far,
// which the library adds up.
func (x *exchange) readContent(data []byte) []byte {
	var e struct {
		Candidates []struct {
			FinishReason string `json:"finishReason"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
		UsageMetadata *struct {
			Prompt   int64 `json:"promptTokenCount"`
			Answer   int64 `json:"candidatesTokenCount"`
			Thoughts int64 `json:"thoughtsTokenCount"`
			Cached   int64 `json:"cachedContentTokenCount"`
		} `json:"usageMetadata"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &e) != nil {
		return data
	}
	if isError(e.Error) {
		x.said = saidError(data)
	}
	if reason := e.PromptFeedback.BlockReason; reason != "" {
		x.said = saying{Type: typeBlocked, Message: fmt.Sprintf("the provider blocked the request (%s)", reason)}
	}
	if len(e.Candidates) > 0 && e.Candidates[0].FinishReason != "" {
		x.finish = e.Candidates[0].FinishReason
	}
	if u := e.UsageMetadata; u != nil {
		x.usage = &tool.Usage{Input: max(0, u.Prompt-u.Cached), Output: u.Answer + u.Thoughts, CacheRead: u.Cached}
	}
	return data
}

// typeBlocked is the type of a refusal before the answer; no wire has a word for it.
const typeBlocked = "blocked"

// isError says whether the field error of an event holds one.
func isError(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }

// finishReason maps the words of all wires but Anthropic's. The library takes
// calls for the sign of a whole answer, whatever the provider says.
func finishReason(said string) fantasy.FinishReason {
	switch said {
	case "stop", "completed", "STOP", "end_turn", "eos":
		return fantasy.FinishReasonStop
	case "tool_calls", "function_call", "tool_use":
		return fantasy.FinishReasonToolCalls
	case "length", "max_tokens", "max_output_tokens", "MAX_TOKENS":
		return fantasy.FinishReasonLength
	case "content_filter", "sensitive", "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION", "LANGUAGE", "IMAGE_SAFETY":
		return fantasy.FinishReasonContentFilter
	case "error", "network_error", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return fantasy.FinishReasonError
	}
	return fantasy.FinishReasonUnknown
}
