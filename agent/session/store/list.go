package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Info is a session in a list.
type Info struct {
	Path     string
	Header   Header
	Name     string
	Modified time.Time // when a user or a model last said something
	Messages int
	// First is what the user said first.
	First string
}

// List returns the sessions of a folder, the last that was used first. Files that
// are no sessions are left out; a folder that is not there has none.
func List(dir string) ([]Info, error) {
	names, err := filepath.Glob(filepath.Join(globQuote(dir), "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("the sessions in %s can't be listed: %w", dir, err)
	}
	var list []Info
	for _, name := range names {
		if info, err := Describe(name); err == nil {
			list = append(list, info)
		}
	}
	slices.SortStableFunc(list, func(a, b Info) int { return b.Modified.Compare(a.Modified) })
	return list, nil
}

// Latest returns the file of the session that was used last in a folder, and false
// if it has none.
func Latest(dir string) (path string, ok bool, err error) {
	list, err := List(dir)
	if err != nil || len(list) == 0 {
		return "", false, err
	}
	return list[0].Path, true, nil
}

// Find returns the file of the session that a text names in a folder: an id, the
// beginning of one, or a file.
func Find(dir, which string) (string, error) {
	if strings.ContainsAny(which, `/\`) || strings.HasSuffix(which, ".jsonl") {
		return which, nil
	}
	list, err := List(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, one := range list {
		if one.Header.ID == which {
			return one.Path, nil
		}
		if strings.HasPrefix(one.Header.ID, which) {
			found = append(found, one.Path)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("no session in %s has the id %q, or one that begins so", dir, which)
	}
	return "", fmt.Errorf("%d sessions have an id that begins with %q: give more of it", len(found), which)
}

// FolderName is the name of the folder for the sessions of a workspace, from its
// label, such as /srv/app or ssh://host/srv/app.
func FolderName(label string) string {
	label = strings.TrimLeft(label, `/\`)
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(label) + "--"
}

func globQuote(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}

// Describe reads what a list shows of a session.
func Describe(path string) (Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = f.Close() }()
	info := Info{Path: path}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 && json.Valid(line) {
			if info.Header.ID == "" {
				if info.Header, err = parseHeader(bytes.TrimSpace(line)); err != nil {
					return info, fmt.Errorf("%s is no session: %w", path, err)
				}
				info.Modified = info.Header.Time
				continue
			}
			info.add(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return info, err
		}
	}
	if info.Header.ID == "" {
		return info, fmt.Errorf("%s is no session: none of its lines is JSON", path)
	}
	return info, nil
}

// add counts a line.
func (i *Info) add(line []byte) {
	var in struct {
		Type, Name, Timestamp string
		Message               struct {
			Role      string
			Content   json.RawMessage
			Timestamp int64
		}
	}
	if json.Unmarshal(line, &in) != nil {
		return
	}
	switch in.Type {
	case "session_info":
		i.Name = strings.TrimSpace(in.Name)
	case "message":
		i.Messages++
		if in.Message.Role != "user" && in.Message.Role != "assistant" {
			return
		}
		at := parseTime(in.Timestamp)
		if in.Message.Timestamp > 0 {
			at = time.UnixMilli(in.Message.Timestamp)
		}
		if at.After(i.Modified) {
			i.Modified = at
		}
		if i.First == "" && in.Message.Role == "user" {
			content, _ := llm.UnmarshalContent(in.Message.Content)
			i.First = tool.TextOf(content)
		}
	}
}
