package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// command is a line that came in. Each kind of command reads some of the fields.
type command struct {
	ID   json.RawMessage `json:"id"`
	Type string          `json:"type"`

	Message            string  `json:"message"`
	Images             []image `json:"images"`
	StreamingBehavior  string  `json:"streamingBehavior"`
	ParentSession      string  `json:"parentSession"`
	Provider           string  `json:"provider"`
	ModelID            string  `json:"modelId"`
	Level              string  `json:"level"`
	Mode               string  `json:"mode"`
	CustomInstructions string  `json:"customInstructions"`
	Enabled            *bool   `json:"enabled"`
	Command            string  `json:"command"`
	ExcludeFromContext bool    `json:"excludeFromContext"`
	OutputPath         string  `json:"outputPath"`
	SessionPath        string  `json:"sessionPath"`
	EntryID            string  `json:"entryId"`
	Since              *string `json:"since"`
	Name               string  `json:"name"`

	// Of an extension_ui_response.
	Value     string `json:"value"`
	Confirmed bool   `json:"confirmed"`
	Cancelled bool   `json:"cancelled"`
}

type image struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"` // base64
	MIMEType string `json:"mimeType"`
}

// id is the command's id as text, for what repeats it outside a response.
func (c command) id() string {
	var text string
	if json.Unmarshal(c.ID, &text) == nil {
		return text
	}
	return string(c.ID)
}

// response answers a command. Data is left out where a command has none.
type response struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// maxLine bounds a command, in bytes.
const maxLine = 64 << 20

// errLong is the error of a line that is longer.
var errLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// lines reads records that end with a line feed; a carriage return before it is
// dropped. A line that is too long is skipped, with errLong. Other separators of
// Unicode are text (hazard EVNT-07).
type lines struct{ r *bufio.Reader }

func (l lines) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return nil, err
		case long:
			return nil, errLong
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

// output writes records, one at a time. A reader that is slow makes whoever writes
// wait; after a write that failed nothing is written any more.
type output struct {
	mu     sync.Mutex
	w      io.Writer
	err    error
	failed func(error) // told once
}

func (o *output) record(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		line, _ = json.Marshal(response{Type: "response", Command: "output", Error: "a record can't be written: " + err.Error()})
	}
	o.line(line)
}

func (o *output) line(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	if _, o.err = o.w.Write(append(line, '\n')); o.err != nil {
		o.failed(o.err)
	}
}
