package agent

import (
	"encoding/json"
	"fmt"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// EventJSON is the JSON form of an event, with its discriminant as "type".
// Deltas come without the cumulative message.
func EventJSON(e Event) ([]byte, error) {
	return json.Marshal(eventObject(e))
}

type object = map[string]any

func eventObject(e Event) object {
	switch e := e.(type) {
	case AgentStart:
		return object{"type": "agent_start"}
	case AgentEnd:
		return object{"type": "agent_end", "messages": nonNil(e.Messages), "reason": e.Reason}
	case TurnStart:
		return object{"type": "turn_start"}
	case TurnEnd:
		return object{"type": "turn_end", "message": e.Message, "toolResults": nonNil(e.ToolResults)}
	case MessageStart:
		return object{"type": "message_start", "message": e.Message}
	case MessageUpdate:
		o := object{"type": "message_update", "assistantMessageEvent": streamObject(e.Stream)}
		if e.Message != nil {
			o["usage"] = e.Message.Usage
		}
		return o
	case MessageEnd:
		return object{"type": "message_end", "message": e.Message}
	case ToolExecutionStart:
		return object{"type": "tool_execution_start", "toolCallId": e.ToolCallID, "toolName": e.ToolName, "args": rawObject(e.Args)}
	case ToolExecutionUpdate:
		return object{
			"type": "tool_execution_update", "toolCallId": e.ToolCallID, "toolName": e.ToolName, "args": rawObject(e.Args),
			"partialResult": resultObject(e.Partial),
		}
	case ToolExecutionEnd:
		o := object{
			"type": "tool_execution_end", "toolCallId": e.ToolCallID, "toolName": e.ToolName,
			"result": resultObject(e.Result), "isError": e.IsError,
		}
		if e.EffectiveArgs != nil {
			o["effectiveArgs"] = rawObject(e.EffectiveArgs)
		}
		if e.Denied {
			o["denied"] = true
		}
		return o
	}
	return object{"type": fmt.Sprintf("%T", e)}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func rawObject(raw json.RawMessage) any {
	switch {
	case len(raw) == 0:
		return struct{}{}
	case !json.Valid(raw):
		return string(raw)
	}
	return raw
}

func resultObject(r tool.Result) object {
	o := object{"content": llm.ContentJSON(r.Content), "details": r.Details}
	if r.Usage != nil {
		o["usage"] = r.Usage
	}
	if len(r.AddedToolNames) > 0 {
		o["addedToolNames"] = r.AddedToolNames
	}
	if r.Terminate {
		o["terminate"] = true
	}
	return o
}

func streamObject(e llm.StreamEvent) object {
	o := object{"type": string(e.Kind), "contentIndex": e.ContentIndex}
	switch e.Kind {
	case llm.StreamTextDelta, llm.StreamThinkingDelta, llm.StreamToolCallDelta:
		o["delta"] = e.Delta
	case llm.StreamTextEnd, llm.StreamThinkingEnd:
		o["content"] = e.Content
	case llm.StreamToolCallEnd:
		o["toolCall"] = e.ToolCall
	case llm.StreamToolCallStart:
		if c := startedCall(e); c != nil {
			o["id"], o["toolName"] = c.ID, c.Name
		}
	case llm.StreamStart, llm.StreamTextStart, llm.StreamThinkingStart:
	}
	return o
}

// startedCall is the call that a toolcall_start opens, or nil.
func startedCall(e llm.StreamEvent) *llm.ToolCall {
	if e.Partial == nil || e.ContentIndex >= len(e.Partial.Content) {
		return nil
	}
	c, _ := e.Partial.Content[e.ContentIndex].(*llm.ToolCall)
	return c
}
