package compact

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/piremote/piremote/agent/llm"
)

// Files are the files that a part of a conversation read and changed. Its zero value
// is empty.
type Files struct {
	read, changed map[string]bool
}

func newFiles() Files { return Files{map[string]bool{}, map[string]bool{}} }

// Read lists the files that were read and not changed, in order.
func (f Files) Read() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.read)), func(path string) bool { return f.changed[path] })
}

// Changed lists the files that were written or edited, in order.
func (f Files) Changed() []string { return slices.Sorted(maps.Keys(f.changed)) }

// Details is the form in which a compaction or a branch summary keeps the lists.
func (f Files) Details() json.RawMessage {
	data, _ := json.Marshal(details{orEmpty(f.Read()), orEmpty(f.Changed())}) // strings always have a JSON form
	return data
}

type details struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// String is what a summary says of the files; empty if there are none.
func (f Files) String() string {
	var b strings.Builder
	for _, list := range []struct {
		name  string
		paths []string
	}{{"read-files", f.Read()}, {"modified-files", f.Changed()}} {
		if len(list.paths) > 0 {
			b.WriteString("\n\n<" + list.name + ">\n" + strings.Join(list.paths, "\n") + "\n</" + list.name + ">")
		}
	}
	return b.String()
}

func (f Files) add(read bool, paths ...string) {
	for _, path := range paths {
		if read {
			f.read[path] = true
		} else {
			f.changed[path] = true
		}
	}
}

// addDetails adds what an earlier summary kept.
func (f Files) addDetails(data json.RawMessage) {
	var d details
	if json.Unmarshal(data, &d) == nil { // another program may keep anything there
		f.add(true, d.ReadFiles...)
		f.add(false, d.ModifiedFiles...)
	}
}

// addCalls adds the files that the calls of an answer name.
func (f Files) addCalls(r llm.Record) {
	a, ok := r.(*llm.Assistant)
	if !ok {
		return
	}
	for _, call := range a.ToolCalls() {
		var in struct{ Path string }
		if json.Unmarshal(call.Arguments, &in) != nil || in.Path == "" {
			continue
		}
		switch call.Name {
		case "read":
			f.add(true, in.Path)
		case "write", "edit":
			f.add(false, in.Path)
		}
	}
}
