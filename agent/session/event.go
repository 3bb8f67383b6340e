package session

import (
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/session/store"
)

// Event is one of the things that a session tells.
//
//sumtype:decl
type Event interface{ isEvent() }

// Core is an event of the agent, passed on; agent.AgentEnd comes as AgentEnd.
type Core struct{ Event agent.Event }

// AgentEnd closes one run of the loop. WillRetry says that the session goes on
// because that run failed.
type AgentEnd struct {
	agent.AgentEnd
	WillRetry bool
}

// AgentSettled says that nothing goes on by itself any more: no new attempt, no
// compaction and nothing that was queued.
type AgentSettled struct{ Aborted bool }

// QueueUpdate is what waits in both queues, as text.
type QueueUpdate struct{ Steering, FollowUp []string }

// CompactionStart opens a compaction.
type CompactionStart struct{ Reason CompactionReason }

// CompactionEnd closes one. Result is nil if there is none; ErrorMessage says why
// unless it was aborted. WillRetry says that the session asks again.
type CompactionEnd struct {
	Reason       CompactionReason
	Result       *CompactionResult
	Aborted      bool
	WillRetry    bool
	ErrorMessage string
}

// EntryAppended says that a program put a record of its own into the session.
type EntryAppended struct{ Entry store.Entry }

// InfoChanged says what the session is called now.
type InfoChanged struct{ Name string }

// ThinkingLevelChanged says how much the model thinks from the next answer on.
type ThinkingLevelChanged struct{ Level string }

// AutoRetryStart announces a new attempt after an answer that failed.
type AutoRetryStart struct {
	Attempt, MaxAttempts int
	Delay                time.Duration
	ErrorMessage         string
}

// AutoRetryEnd says how the attempts ended.
type AutoRetryEnd struct {
	Success    bool
	Attempt    int
	FinalError string // if they failed
}

// SummarizationRetryScheduled announces a new attempt at a summary.
type SummarizationRetryScheduled struct {
	Attempt, MaxAttempts int
	Delay                time.Duration
	ErrorMessage         string
}

// SummarizationRetryAttemptStart says that it begins.
type SummarizationRetryAttemptStart struct{ Reason CompactionReason }

// SummarizationRetryFinished says that no further attempt follows.
type SummarizationRetryFinished struct{}

// BashExecutionUpdate is a piece of output of a person's command.
type BashExecutionUpdate struct {
	ID    string // as Bash was given it
	Delta string
}

func (Core) isEvent()                           {}
func (AgentEnd) isEvent()                       {}
func (AgentSettled) isEvent()                   {}
func (QueueUpdate) isEvent()                    {}
func (CompactionStart) isEvent()                {}
func (CompactionEnd) isEvent()                  {}
func (EntryAppended) isEvent()                  {}
func (InfoChanged) isEvent()                    {}
func (ThinkingLevelChanged) isEvent()           {}
func (AutoRetryStart) isEvent()                 {}
func (AutoRetryEnd) isEvent()                   {}
func (SummarizationRetryScheduled) isEvent()    {}
func (SummarizationRetryAttemptStart) isEvent() {}
func (SummarizationRetryFinished) isEvent()     {}
func (BashExecutionUpdate) isEvent()            {}
