package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

// memo is what is told of a file: no text of it, only what recognises it.
type memo struct {
	Path    string       `json:"path"`
	Hash    string       `json:"hash,omitempty"` // SHA-256 of the whole
	Size    int64        `json:"size,omitempty"`
	Version *ops.Version `json:"version,omitempty"`
	Windows []memoWindow `json:"windows,omitempty"`
	Gone    bool         `json:"forgotten,omitempty"`
}

type memoWindow struct {
	First int    `json:"first"`
	Lines int    `json:"lines"`
	Hash  string `json:"hash"`
	Last  bool   `json:"last,omitempty"`
}

// News is what has come to be known of files in a session since the last call of it,
// as JSON without any text of the files; nil if there is nothing new. Restored in the
// order in which they were told, all of a session's news make another memory recognise
// the same files (hazard MUTQ-05).
func (s *Memory) News(session string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []memo
	for f := range s.news {
		if f.session != session {
			continue
		}
		delete(s.news, f)
		if e := s.files[f]; e != nil {
			told = append(told, e.Value.(*sight).memo())
		} else {
			told = append(told, memo{Path: f.path, Gone: true})
		}
	}
	if len(told) == 0 {
		return nil
	}
	slices.SortFunc(told, func(a, b memo) int { return strings.Compare(a.Path, b.Path) })
	data, err := json.Marshal(told)
	if err != nil {
		panic(err) // plain strings and numbers
	}
	return data
}

// Restore takes in what News told of a session. A file that was seen as a whole is
// recognised by its hash, one of which a part was seen by the hash of those lines. The
// text that was shown is not known any more, so that an edit of a file that changed
// since is not compared with its surroundings.
func (s *Memory) Restore(session string, news json.RawMessage) error {
	var told []memo
	if err := json.Unmarshal(news, &told); err != nil {
		return fmt.Errorf("what a session has seen of files: %w", err)
	}
	for _, m := range told {
		f := fileOf{session: session, path: m.Path}
		if m.Gone {
			s.forget(f)
		} else {
			s.put(m.sight(f))
		}
		s.mu.Lock()
		delete(s.news, f)
		s.mu.Unlock()
	}
	return nil
}

func (s *sight) memo() memo {
	m := memo{Path: s.file.path, Hash: s.hash, Size: s.size}
	if s.version.Known() {
		m.Version = &s.version
	}
	for _, w := range s.windows {
		if s.hash != "" || w.first == 0 {
			continue // the whole is recognised, or the place is not known
		}
		hash := w.hash
		if hash == "" {
			hash = steps.Hash([]byte(w.text))
		}
		m.Windows = append(m.Windows, memoWindow{First: w.first, Lines: w.count(), Hash: hash, Last: w.last})
	}
	if m.Hash == "" && m.Windows == nil {
		return memo{Path: s.file.path, Gone: true} // nothing by which it could be recognised
	}
	return m
}

func (m memo) sight(f fileOf) sight {
	now := sight{file: f, hash: m.Hash, size: m.Size}
	if m.Version != nil {
		now.version = *m.Version
	}
	for _, w := range m.Windows {
		now.windows = append(now.windows, window{first: w.First, lines: w.Lines, hash: w.Hash, last: w.Last})
	}
	return now
}

// is reports whether lines are those of the window.
func (w window) is(lines []string) bool {
	if w.hash == "" {
		return slices.Equal(lines, splitLines(w.text))
	}
	return steps.Hash([]byte(strings.Join(lines, ""))) == w.hash
}
