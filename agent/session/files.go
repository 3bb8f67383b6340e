package session

import (
	"encoding/json"

	"github.com/piremote/piremote/agent/session/store"
)

// FilesType is the type of the Custom entries that keep what a session has seen of
// files.
const FilesType = "files_seen"

// FileMemory is what the tools remember of the files that a session has seen; see
// tools.Memory. Kept with the session it survives the process, so that a resumed
// session does not overwrite what somebody else has changed since (hazard MUTQ-05).
type FileMemory interface {
	// News is what has come to be known since it was last asked, nil if nothing.
	News(session string) json.RawMessage
	// Restore takes in news, in the order in which they were told.
	Restore(session string, news json.RawMessage) error
}

// keepFiles keeps what the last calls have seen.
func (s *Session) keepFiles() error {
	files := s.options.Files
	if files == nil {
		return nil
	}
	log := s.Log()
	news := files.News(log.Header().ID)
	if news == nil {
		return nil
	}
	_, err := log.Append(store.Custom{CustomType: FilesType, Data: news})
	return err
}

// recallFiles makes the tools remember what was seen on the way to the leaf of a log.
// What can't be understood is told, and forgotten.
func (s *Session) recallFiles(log *store.Log) {
	if s.options.Files == nil {
		return
	}
	for _, e := range log.Branch(log.Leaf()) {
		if c, ok := e.(store.Custom); ok && c.CustomType == FilesType {
			if err := s.options.Files.Restore(log.Header().ID, c.Data); err != nil {
				s.hooks.report("session", err)
			}
		}
	}
}
