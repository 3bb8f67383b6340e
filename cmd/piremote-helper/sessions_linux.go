package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/server"
)

// sessions prints the sessions of the account and the programs of other versions,
// and ends and removes those that nobody attends or uses if that is the word.
func sessions(word string, stdout, stderr io.Writer) int {
	_, cache, name := program()
	if cache == "" {
		return 0 // sessions are kept in a private folder alone
	}
	find, others := server.List, server.Copies
	if word == helper.Collect {
		find, others = server.Collect, server.RemoveCopies
	}
	list, err := find(cache)
	for _, s := range list {
		_, _ = fmt.Fprintln(stdout, s.Line()) // nobody may be listening
	}
	copies, cerr := others(cache, name)
	for _, c := range copies {
		_, _ = fmt.Fprintln(stdout, c.Line()) // as above
	}
	if err := errors.Join(err, cerr); err != nil {
		_, _ = fmt.Fprintln(stderr, helper.Name+":", err) // as above
		return 1
	}
	return 0
}
