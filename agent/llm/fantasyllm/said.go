package fantasyllm

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// saying is what a provider says of an error. Each wire has some of it.
type saying struct {
	Type    string
	Code    string        // a word
	Number  int           // a status of HTTP, inside a stream
	Status  string        // Google's word
	Reason  string        // Google's finer word
	Wait    time.Duration // Google's Retry-After
	Message string
}

// envelope is how the wires write an error.
type envelope struct {
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"` // a word or a number
	Status   string          `json:"status"`
	Message  string          `json:"message"`
	Metadata struct {
		Raw json.RawMessage `json:"raw"` // OpenRouter: what the provider behind it said
	} `json:"metadata"`
	Details []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

func (e envelope) said() saying {
	s := saying{Type: e.Type, Status: e.Status, Message: e.Message}
	code := strings.Trim(string(e.Code), `"`)
	if n, err := strconv.Atoi(code); err == nil {
		s.Number = n
	} else if code != "null" {
		s.Code = code
	}
	if behind := excerpt(unquoted(e.Metadata.Raw)); behind != "" {
		s.Message += ": " + behind
	}
	for _, d := range e.Details {
		if d.Reason != "" {
			s.Reason = d.Reason
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			s.Wait = wait
		}
	}
	return s
}

func unquoted(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}

// saidError reads the body of an error: {"error":{…}}, {"error":"…"}, a list of
// one such object, the inner object alone, or text.
func saidError(body []byte) saying {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) == 1 {
		body = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
		envelope
	}
	if json.Unmarshal(body, &outer) != nil {
		return saying{Message: excerpt(body)}
	}
	var inner envelope
	if json.Unmarshal(outer.Error, &inner) == nil && outer.Error != nil && string(outer.Error) != "null" {
		return inner.said()
	}
	if text := unquoted(outer.Error); len(text) > 0 && string(text) != "null" {
		return saying{Message: excerpt(text)}
	}
	if outer.Message != "" {
		return outer.said()
	}
	return saying{Message: excerpt(body)}
}

var (
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	pageTags  = regexp.MustCompile(`(?s)<(script|style)[^>]*>.*?</(script|style)>|<[^>]*>`)
)

// maxExcerpt bounds what an error repeats of an answer, in bytes.
const maxExcerpt = 300

// excerpt is the head of a text in one line; of a page it is the title.
func excerpt(body []byte) string {
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		if m := pageTitle.FindStringSubmatch(text); m != nil {
			text = m[1]
		} else {
			text = pageTags.ReplaceAllString(text, " ")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxExcerpt {
		return text
	}
	cut := maxExcerpt
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
