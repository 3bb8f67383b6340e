package helper

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The words that list the sessions of an account on a target, and end those to
// which nobody is connected: both print a line for each session.
const (
	Sessions = "sessions"
	Collect  = "collect"
)

// Session is what is known of a client's session on a target.
type Session struct {
	Name  string
	State SessionState
	PID   int       // of its process; zero if unknown
	Since time.Time // when it last changed
	Until time.Time // when the lease of one that is alone ends
}

// SessionState says whether a session lives.
type SessionState string

// The states.
const (
	SessionAttended SessionState = "attended" // a client is connected
	SessionAlone    SessionState = "alone"    // it waits for its client, until its lease ends
	SessionEnded    SessionState = "ended"    // its process is gone; its journal is left
)

// Line is the session as a line of text without its end.
func (s Session) Line() string {
	return fmt.Sprintf("session %s %s %d %d %d", s.Name, s.State, s.PID, unix(s.Since), unix(s.Until))
}

// ParseSession is the inverse of Line. Other lines report false.
func ParseSession(line string) (Session, bool) {
	f := strings.Fields(line)
	if len(f) != 6 || f[0] != "session" {
		return Session{}, false
	}
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(f[3+i], 10, 64); err != nil {
			return Session{}, false
		}
	}
	return Session{Name: f[1], State: SessionState(f[2]), PID: int(n[0]), Since: moment(n[1]), Until: moment(n[2])}, true
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func moment(sec int64) time.Time {
	if sec == 0 {
		return time.Time{}
	}
	return time.Unix(sec, 0)
}
