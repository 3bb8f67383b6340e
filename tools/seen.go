package tools

import (
	"bytes"
	"container/list"
	"slices"
	"strings"
	"sync"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

// Bounds of what is remembered of files, all sessions together; what was used
// longest ago is forgotten first.
const (
	maxSeenFiles = 4096
	maxSeenBytes = 16 << 20 // of text
)

// Memory remembers what sessions were shown of files and what they wrote, so that
// what somebody else changed since is not overwritten unseen (design 06,
// Mutations; hazard MUTQ-03). Sessions are told apart by the scope of calls. It is
// safe for concurrent use; calls about one file come in its queue's order.
type Memory struct {
	mu    sync.Mutex
	bytes int
	order *list.List // of *sight, the latest first
	files map[fileOf]*list.Element
	news  map[fileOf]bool // not told by News yet
}

// fileOf is a file as a session names it. A name that is an alias of another is
// remembered apart; known bridges that.
type fileOf struct{ session, path string }

// sight is what a session knows of a file.
type sight struct {
	file    fileOf
	hash    string // SHA-256 of the whole content; empty if only windows were shown
	size    int64  // of the file
	version ops.Version
	windows []window
}

// window is some consecutive lines that were shown.
type window struct {
	first int // line, from 1; 0 if edits have moved it
	text  string
	last  bool // the text reaches to the end of the file

	// Of a window whose text is not known any more (see Restore):
	lines int
	hash  string
}

// count is the number of lines.
func (w window) count() int {
	if w.hash != "" {
		return w.lines
	}
	return len(splitLines(w.text))
}

func (w window) overlaps(o window) bool {
	return o.first < w.first+w.count() && w.first < o.first+o.count()
}

// NewMemory returns a memory that knows nothing.
func NewMemory() *Memory {
	return &Memory{order: list.New(), files: map[fileOf]*list.Element{}, news: map[fileOf]bool{}}
}

// of is what the session knows of a file, if anything.
func (s *Memory) of(f fileOf) (sight, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[f]
	if e == nil {
		return sight{}, false
	}
	s.order.MoveToFront(e)
	return *e.Value.(*sight), true
}

// known reports whether the session has seen or written exactly this content, by
// whatever name.
func (s *Memory) known(session, hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Front(); e != nil; e = e.Next() {
		if known := e.Value.(*sight); known.file.session == session && known.hash == hash {
			return true
		}
	}
	return false
}

// shown notes lines of a file that a session was shown.
func (s *Memory) shown(f fileOf, size int64, version ops.Version, w window) {
	if w.first == 1 && w.last && int64(len(w.text)) == size {
		s.whole(f, []byte(w.text), version)
		return
	}
	now, _ := s.of(f)
	if now.hash != "" || now.size != size || now.version != version {
		now = sight{} // another content
	}
	now.file, now.size, now.version = f, size, version
	// What was shown of these lines before is not what they are now.
	now.windows = slices.DeleteFunc(slices.Clone(now.windows), w.overlaps)
	now.windows = append(now.windows, w)
	s.put(now)
}

// whole notes the whole content of a file that a session was shown or has written.
func (s *Memory) whole(f fileOf, content []byte, version ops.Version) {
	now := sight{file: f, hash: steps.Hash(content), size: int64(len(content)), version: version}
	if len(content) <= maxSeenBytes/16 {
		now.windows = []window{{first: 1, text: string(content), last: true}}
	}
	s.put(now)
}

// forget is for a file of which nobody knows what it holds.
func (s *Memory) forget(f fileOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.files[f]; e != nil {
		s.drop(e)
		s.news[f] = true
	}
}

func (s *Memory) put(now sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.files[now.file]; e != nil {
		s.drop(e)
	}
	s.files[now.file] = s.order.PushFront(&now)
	s.news[now.file] = true
	s.bytes += now.textBytes()
	for len(s.files) > maxSeenFiles || s.bytes > maxSeenBytes {
		s.drop(s.order.Back())
	}
}

func (s *Memory) drop(e *list.Element) {
	old := s.order.Remove(e).(*sight)
	delete(s.files, old.file)
	delete(s.news, old.file)
	s.bytes -= old.textBytes()
}

// complete reports whether the whole content is known, with its size.
func (s *sight) complete() bool { return s.hash != "" && s.size > 0 }

func (s *sight) textBytes() (n int) {
	for _, w := range s.windows {
		n += len(w.text)
	}
	return n
}

// nearby is the number of lines around a change that count as its place.
const nearby = 3

// agrees reports whether the place of old in a file, the lines from first to last
// (counted from 0, and last excluded) with those nearby, is as it was shown, or old
// was never shown.
func (s *sight) agrees(old string, lines []string, first, last int) bool {
	shown := false
	for _, w := range s.windows {
		if w.hash != "" {
			continue // its text is not known
		}
		shown = shown || strings.Contains(w.text, old)
		text := splitLines(w.text)
		for i := 0; i+last-first <= len(text); i++ {
			if !slices.Equal(text[i:i+last-first], lines[first:last]) {
				continue
			}
			if around(w, text, i, i+last-first, lines, first, last) {
				return true
			}
		}
	}
	return !shown
}

// around compares what stands beside two equal runs of lines, as far as it was shown.
func around(w window, text []string, i, end int, lines []string, first, last int) bool {
	for k := 1; k <= nearby; k++ {
		switch {
		case i-k < 0 && w.first != 1, i-k < -1, first-k < -1:
		case (i-k < 0) != (first-k < 0), i-k >= 0 && text[i-k] != lines[first-k]:
			return false
		}
		above, below := end+k-1, last+k-1
		switch {
		case above >= len(text) && !w.last, above > len(text), below > len(lines):
		case (above == len(text)) != (below == len(lines)), above < len(text) && text[above] != lines[below]:
			return false
		}
	}
	return true
}

// splitLines splits text behind its line feeds.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// touched lists the lines of old, from and to (excluded), that differ in changed.
func touched(old, changed []byte) (first, last int) {
	start := 0
	for start < len(old) && start < len(changed) && old[start] == changed[start] {
		start++
	}
	end, tail := len(old), len(changed)
	for end > start && tail > start && old[end-1] == changed[tail-1] {
		end--
		tail--
	}
	first = bytes.Count(old[:start], []byte("\n"))
	last = bytes.Count(old[:end], []byte("\n"))
	if end > 0 && old[end-1] != '\n' {
		last++
	}
	return first, max(last, first)
}
