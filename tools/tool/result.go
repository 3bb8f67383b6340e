package tool

import "strings"

// Content is a block of model-visible output: Text or Image.
//
//sumtype:decl
type Content interface{ isContent() }

// Text is a block of text.
type Text struct{ Text string }

// Image is a block with an encoded image.
type Image struct {
	Data     []byte
	MIMEType string
}

func (Text) isContent()  {}
func (Image) isContent() {}

// Result is what a call produced.
type Result struct {
	// Content is for the model.
	Content []Content
	// Details is structured data for programs and screens; it marshals to a
	// JSON object. The model must not need it.
	Details any
	// Usage is what nested model calls consumed.
	Usage *Usage
	// AddedToolNames marks tools that become available from here on.
	AddedToolNames []string
	// Terminate votes for ending the run after this batch.
	Terminate bool
	// Effects records what happened to the workspace. Never model-visible.
	Effects []Effect
}

// TextResult is a result with a single block of text.
func TextResult(text string) Result {
	return Result{Content: []Content{Text{Text: text}}}
}

// TextOf joins the text blocks of content with newlines.
func TextOf(content []Content) string {
	var parts []string
	for _, c := range content {
		if t, ok := c.(Text); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Usage counts tokens and money.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"` // US dollars
}

// Effect records one thing that a call did to a workspace.
type Effect struct {
	Workspace string      `json:"workspace"`         // the target's label, such as ssh://host/srv/app
	Operation string      `json:"operation"`         // read, write, edit, exec, search, list
	Path      string      `json:"path,omitempty"`    // canonical, on the target
	Command   string      `json:"command,omitempty"` // for exec
	Before    string      `json:"before,omitempty"`  // SHA-256 of the old content, hex
	After     string      `json:"after,omitempty"`   // SHA-256 of the new content, hex
	ExitCode  *int        `json:"exitCode,omitempty"`
	Kill      *KillReport `json:"kill,omitempty"`
}

// KillReport says what termination did.
type KillReport struct {
	Killed    int      `json:"killed"`              // processes ended
	Survivors []string `json:"survivors,omitempty"` // processes that could not be ended
}
