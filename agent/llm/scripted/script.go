package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/piremote/piremote/agent/llm"
)

// Script is a parsed script.
type Script struct {
	Name  string `yaml:"-"`
	Turns []Turn `yaml:"turns"`
}

// Turn is the answer to one request.
type Turn struct {
	Expect     []Expectation  `yaml:"expect"`
	Thinking   string         `yaml:"thinking"`
	Text       string         `yaml:"text"`
	ToolCalls  []Call         `yaml:"toolCalls"`
	StopReason llm.StopReason `yaml:"stopReason"` // empty: toolUse with calls, else stop
	Usage      Usage          `yaml:"usage"`
	Error      *Failure       `yaml:"error"` // the request fails, after what stands above
	Delay      time.Duration  `yaml:"delay"` // before the answer begins, such as 200ms
}

// Call is a tool call.
type Call struct {
	ID        string         `yaml:"id"` // empty: one that is unique
	Name      string         `yaml:"name"`
	Arguments map[string]any `yaml:"arguments"`
	// RawArguments are sent as they are, instead of Arguments: what a model sends
	// that was cut off, or that can't spell JSON.
	RawArguments *string `yaml:"rawArguments"`
}

// Usage counts tokens.
type Usage struct {
	Input  int64   `yaml:"input"`
	Output int64   `yaml:"output"`
	Cost   float64 `yaml:"cost"`
}

// Failure is an error of the provider. After one that is worth a new attempt, the
// loop asks again, which takes the next turn.
type Failure struct {
	Kind       llm.ErrorKind `yaml:"kind"` // empty: by Status, else "invalid request", which is final
	Status     int           `yaml:"status"`
	RetryAfter time.Duration `yaml:"retryAfter"` // such as 2s
	Message    string        `yaml:"message"`
}

func (f *Failure) err() error {
	kind := f.Kind
	if kind == "" {
		switch {
		case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
			kind = llm.ErrAuth
		case f.Status == http.StatusTooManyRequests:
			kind = llm.ErrRateLimit
		case f.Status == http.StatusServiceUnavailable || f.Status == 529:
			kind = llm.ErrOverloaded
		case f.Status >= http.StatusInternalServerError:
			kind = llm.ErrServer
		default:
			kind = llm.ErrInvalid
		}
	}
	return &llm.Error{Kind: kind, Status: f.Status, RetryAfter: f.RetryAfter, Message: f.Message}
}

// Expectation states what one tool result must be. Fields left out expect
// nothing. Equals and Contains are templates.
type Expectation struct {
	Equals   *string `yaml:"equals"` // but for one line end at the end
	Contains string  `yaml:"contains"`
	Matches  string  `yaml:"matches"` // RE2
	IsError  *bool   `yaml:"isError"`
	Capture  string  `yaml:"capture"` // RE2; its named groups become variables
}

// Parse reads a script. Unknown keys are errors that name file and line.
func Parse(name string, data []byte) (*Script, error) {
	s := &Script{Name: name}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("script %s: more follows behind the script: only one document is read", name)
	}
	if len(s.Turns) == 0 {
		return nil, fmt.Errorf("script %s: it has no turns", name)
	}
	for i, t := range s.Turns {
		switch t.StopReason {
		case "", llm.StopEnd, llm.StopLength, llm.StopToolUse, llm.StopDeferred:
		case llm.StopError, llm.StopAborted:
			return nil, fmt.Errorf("script %s: turn %d: stopReason %s needs an error, not a stopReason", name, i+1, t.StopReason)
		default:
			return nil, fmt.Errorf("script %s: turn %d: there is no stopReason %s", name, i+1, t.StopReason)
		}
		for _, e := range t.Expect {
			for _, pattern := range []string{e.Matches, e.Capture} {
				if _, err := regexp.Compile(pattern); err != nil {
					return nil, fmt.Errorf("script %s: turn %d: %w", name, i+1, err)
				}
			}
		}
		for _, c := range t.ToolCalls {
			if c.Name == "" {
				return nil, fmt.Errorf("script %s: turn %d: a tool call has no name", name, i+1)
			}
			if c.Arguments != nil && c.RawArguments != nil {
				return nil, fmt.Errorf("script %s: turn %d: the call of %s has both arguments and rawArguments", name, i+1, c.Name)
			}
			if _, err := json.Marshal(c.Arguments); err != nil {
				return nil, fmt.Errorf("script %s: turn %d: the arguments of %s are no JSON: %w", name, i+1, c.Name, err)
			}
		}
	}
	return s, nil
}
