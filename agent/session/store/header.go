package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Version is that of the format which is written. Older ones are read, and written
// anew in this one when a file is opened to be continued.
const Version = 3

// Header is the first line of a file.
type Header struct {
	Version int
	ID      string
	Time    time.Time
	// Cwd is the folder that the session works in, on the workspace.
	Cwd string
	// ParentSession is the file that this one was forked from.
	ParentSession string
	// Workspace is nil in files that another program made.
	Workspace *Workspace
	line      json.RawMessage
}

// Workspace is where a session's effects happen.
type Workspace struct {
	Backend string `json:"backend"` // local, ssh, docker, …
	Host    string `json:"host,omitempty"`
	Root    string `json:"root"`
	Label   string `json:"label"` // such as ssh://host/srv/app
}

type headerJSON struct {
	Type          string     `json:"type"`
	Version       int        `json:"version,omitempty"`
	ID            string     `json:"id"`
	Timestamp     string     `json:"timestamp"`
	Cwd           string     `json:"cwd"`
	ParentSession string     `json:"parentSession,omitempty"`
	Workspace     *Workspace `json:"workspace,omitempty"`
}

// MarshalJSON writes {"type":"session",…}, as the first line has it.
func (h Header) MarshalJSON() ([]byte, error) {
	if h.line != nil {
		return h.line, nil
	}
	return json.Marshal(headerJSON{"session", h.Version, h.ID, stamp(h.Time), h.Cwd, h.ParentSession, h.Workspace})
}

func parseHeader(line []byte) (Header, error) {
	var in headerJSON
	if err := json.Unmarshal(line, &in); err != nil || in.Type != "session" {
		return Header{}, errors.New("its first line is no session header")
	}
	if in.ID == "" {
		return Header{}, errors.New("its header has no id")
	}
	if in.Version > Version {
		return Header{}, fmt.Errorf("it has version %d of the format, and only versions up to %d are known: use a newer piremote", in.Version, Version)
	}
	return Header{max(in.Version, 1), in.ID, parseTime(in.Timestamp), in.Cwd, in.ParentSession, in.Workspace, append(json.RawMessage(nil), line...)}, nil
}

// stamp is how files write a time.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// parseTime reads a time; what is none is the zero time.
func parseTime(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}
