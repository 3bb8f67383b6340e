package supervisor

import (
	"errors"
	"strings"
)

// Options is what a supervisor is started with.
type Options struct {
	// Marker is the "NAME=value" in the environment of the command.
	Marker string
	// Script says that descriptor 4 is to be the command's descriptor 3.
	Script bool
	// Keep leaves alone what outlives the command. Otherwise the supervisor
	// stays until nothing does.
	Keep bool
}

// Arguments of the program.
const (
	flagScript = "--script"
	flagKeep   = "--keep"
	flagMarker = "--marker="
	separator  = "--"
)

// Args returns the arguments with which Run runs a program with arguments args.
func (o Options) Args(program string, args []string) []string {
	list := []string{flagMarker + o.Marker}
	if o.Script {
		list = append(list, flagScript)
	}
	if o.Keep {
		list = append(list, flagKeep)
	}
	return append(append(list, separator, program), args...)
}

// parse is the inverse of Args.
func parse(list []string) (o Options, program string, args []string, err error) {
	for i, a := range list {
		marker, isMarker := strings.CutPrefix(a, flagMarker)
		switch {
		case isMarker:
			o.Marker = marker
		case a == flagScript:
			o.Script = true
		case a == flagKeep:
			o.Keep = true
		case a == separator && i+1 < len(list):
			return o, list[i+1], list[i+2:], nil
		default:
			return o, "", nil, errors.New("unknown argument " + a)
		}
	}
	return o, "", nil, errors.New("no program")
}

// Report is one line of what a supervisor tells; exactly one field is set.
type Report struct {
	Error   *StartError `json:"error,omitempty"`
	Started *Started    `json:"started,omitempty"`
	Exit    *Exit       `json:"exit,omitempty"`
	Ended   *Ended      `json:"ended,omitempty"`
}

// StartError says that the program could not be started.
type StartError struct {
	Path string `json:"path"`
	Code int    `json:"code"` // errno
}

// Started says that the program runs.
type Started struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // as in /proc/pid/stat
}

// Exit says that the program has ended.
type Exit struct {
	Status uint32 `json:"status"` // as of wait(2)
	Left   bool   `json:"left"`   // processes of its tree still live
}

// Ended says what ending the tree did. It is sent once the tree has ended.
type Ended struct {
	Killed     int      `json:"killed"`
	Survivors  []string `json:"survivors,omitempty"`
	Unverified string   `json:"unverified,omitempty"`
}
