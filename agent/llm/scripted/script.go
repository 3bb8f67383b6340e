package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
}

// Usage counts tokens.
type Usage struct {
	Input  int64   `yaml:"input"`
	Output int64   `yaml:"output"`
	Cost   float64 `yaml:"cost"`
}

// Failure is an error of the provider.
type Failure struct {
	Kind    llm.ErrorKind `yaml:"kind"`
	Status  int           `yaml:"status"`
	Message string        `yaml:"message"`
}

// Expectation states what one tool result must be. Fields left out expect
// nothing. Texts are templates.
type Expectation struct {
	Equals   *string `yaml:"equals"`
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
	if len(s.Turns) == 0 {
		return nil, fmt.Errorf("script %s: it has no turns", name)
	}
	for i, t := range s.Turns {
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
		}
	}
	return s, nil
}
