package opstest

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// returnMark stands for a carriage return before a line feed while a script is
// parsed: the parser would drop it, and a script is byte-exact (hazard SSHX-12).
const returnMark = "\U0010FFFD"

// parse parses a script for bash.
func parse(script string) (*syntax.File, error) {
	script = strings.ReplaceAll(script, "\r\n", returnMark+"\n")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			n.Value = strings.ReplaceAll(n.Value, returnMark, "\r")
		case *syntax.SglQuoted:
			n.Value = strings.ReplaceAll(n.Value, returnMark, "\r")
		}
		return true
	})
	return file, nil
}
