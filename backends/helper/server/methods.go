//go:build linux

package server

import "github.com/piremote/piremote/backends/helper/wire"

// methods is everything that a client can ask for.
func methods() map[wire.Method]method { return table }

var table = map[wire.Method]method{
	wire.MethodOpen:       with(open),
	wire.MethodAccess:     with(access),
	wire.MethodRead:       with(read),
	wire.MethodReadWindow: with(readWindow),
	wire.MethodStat:       with(stat),
	wire.MethodReadDir:    with(readDir),
	wire.MethodCanonical:  with(canonical),
	wire.MethodMkdirAll:   with(mkdirAll),
	wire.MethodWrite:      with(write),
	wire.MethodEdit:       with(edit),
	wire.MethodSearch:     with(search),
	wire.MethodGlob:       with(glob),
	wire.MethodExec:       with(execute),
	wire.MethodAttach:     with(attach),
	wire.MethodAsk:        with(ask),
}
