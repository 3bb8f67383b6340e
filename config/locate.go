package config

import (
	"errors"
	"regexp"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// invalidKeys matches the decoder's report of keys that the struct lacks; the
// library has no typed form of it.
var invalidKeys = regexp.MustCompile(`has invalid keys: ([^,\s]+)`)

// locate turns an error of decoding into an *Error with file, line and key.
func locate(err error, file string, lines map[string]int, source map[string]string) error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Msg: err.Error()}
		var de *mapstructure.DecodeError
		if errors.As(err, &de) {
			e.Key, e.Msg = strings.ToLower(de.Name()), de.Unwrap().Error()
		}
		if m := invalidKeys.FindStringSubmatch(e.Msg); m != nil {
			e.Key = strings.Trim(e.Key+"."+m[1], ".")
			e.Msg = "is no key of the configuration"
		}
	}
	if from := source[e.Key]; from != "" {
		e.File, e.Key = from, ""
		return e
	}
	if line, ok := lines[e.Key]; ok {
		e.File, e.Line = file, line
	} else if i := strings.LastIndexAny(e.Key, ".["); i > 0 && lines[e.Key[:i]] > 0 {
		e.File, e.Line = file, lines[e.Key[:i]]
	} else if file != "" && len(lines) > 0 {
		e.File = file
	}
	return e
}
