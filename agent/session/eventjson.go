package session

import (
	"encoding/json"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

type object = map[string]any

// EventJSON is the JSON form of an event, with its discriminant as "type".
// Streamed pieces come without the message that they build.
func EventJSON(e Event) ([]byte, error) {
	if c, ok := e.(Core); ok {
		return agent.EventJSON(c.Event)
	}
	return json.Marshal(eventObject(e))
}

func eventObject(e Event) object {
	switch e := e.(type) {
	case AgentEnd:
		messages := e.Messages
		if messages == nil {
			messages = []llm.Message{}
		}
		return object{"type": "agent_end", "messages": messages, "reason": e.Reason, "willRetry": e.WillRetry}
	case AgentSettled:
		return object{"type": "agent_settled", "aborted": e.Aborted}
	case QueueUpdate:
		return object{"type": "queue_update", "steering": e.Steering, "followUp": e.FollowUp}
	case CompactionStart:
		return object{"type": "compaction_start", "reason": e.Reason}
	case CompactionEnd:
		o := object{"type": "compaction_end", "reason": e.Reason, "aborted": e.Aborted, "willRetry": e.WillRetry}
		if e.Result != nil {
			o["result"] = e.Result
		}
		return with(o, "errorMessage", e.ErrorMessage)
	case EntryAppended:
		entry, err := store.JSON(e.Entry)
		if err != nil {
			return object{"type": "entry_appended", "errorMessage": err.Error()}
		}
		return object{"type": "entry_appended", "entry": entry}
	case InfoChanged:
		return with(object{"type": "session_info_changed"}, "name", e.Name)
	case ThinkingLevelChanged:
		return object{"type": "thinking_level_changed", "level": e.Level}
	case AutoRetryStart:
		return object{
			"type": "auto_retry_start", "attempt": e.Attempt, "maxAttempts": e.MaxAttempts,
			"delayMs": e.Delay.Milliseconds(), "errorMessage": e.ErrorMessage,
		}
	case AutoRetryEnd:
		return with(object{"type": "auto_retry_end", "success": e.Success, "attempt": e.Attempt}, "finalError", e.FinalError)
	case SummarizationRetryScheduled:
		return object{
			"type": "summarization_retry_scheduled", "attempt": e.Attempt, "maxAttempts": e.MaxAttempts,
			"delayMs": e.Delay.Milliseconds(), "errorMessage": e.ErrorMessage,
		}
	case SummarizationRetryAttemptStart:
		return object{"type": "summarization_retry_attempt_start", "source": "compaction", "reason": e.Reason}
	case SummarizationRetryFinished:
		return object{"type": "summarization_retry_finished"}
	case BashExecutionUpdate:
		return with(object{"type": "bash_execution_update", "delta": e.Delta}, "id", e.ID)
	case Core: // EventJSON has written it
	}
	return object{}
}

// with adds a field unless it is empty.
func with(o object, key, value string) object {
	if value != "" {
		o[key] = value
	}
	return o
}
