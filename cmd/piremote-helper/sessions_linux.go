package main

import (
	"fmt"
	"io"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/server"
)

// sessions prints the sessions of the account, and ends those that nobody attends
// if that is the word.
func sessions(word string, stdout, stderr io.Writer) int {
	_, cache := program()
	if cache == "" {
		return 0 // sessions are kept in a private folder alone
	}
	find := server.List
	if word == helper.Collect {
		find = server.Collect
	}
	list, err := find(cache)
	for _, s := range list {
		_, _ = fmt.Fprintln(stdout, s.Line()) // nobody may be listening
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, helper.Name+":", err) // as above
		return 1
	}
	return 0
}
