package wire

import "github.com/piremote/piremote/tools/ops"

// ExecRequest runs a command, or listens to it from its beginning if it runs
// already.
type ExecRequest struct {
	Job     string // a name that no other command of the session has
	View    uint32
	Command ops.Command
}

func (m *ExecRequest) fields(c *codec) {
	c.string(&m.Job)
	c.uint32(&m.View)
	k := &m.Command
	c.string(&k.Script)
	text(c, &k.Shell.Kind)
	c.string(&k.Shell.Path)
	c.string(&k.Dir)
	c.pairs(&k.Env)
	c.duration(&k.Timeout)
	c.duration(&k.Grace)
	c.bool(&k.Spill)
	c.int64(&k.SpillLimit)
	text(c, &k.Background)
}

// AttachRequest takes up a command of a lost connection: its output from the
// first byte that the client does not have.
type AttachRequest struct {
	Job  string
	From int64 // bytes of output delivered or known to be dropped
}

func (m *AttachRequest) fields(c *codec) { c.string(&m.Job); c.int64(&m.From) }

// Output is a part of a command's output. It begins at Offset of all that the
// command printed, with Dropped bytes that are not delivered.
type Output struct {
	Offset int64
	Chunk  ops.Chunk // Data shares memory with the payload
}

func (m *Output) fields(c *codec) {
	c.int64(&m.Offset)
	c.int64(&m.Chunk.Dropped)
	c.int64(&m.Chunk.DroppedLines)
	c.bytes(&m.Chunk.Data)
}

// ExecReply is how a command ended. Failure is what the engine returned beside
// the Exit, if anything. Never answers an AttachRequest whose command never began.
type ExecReply struct {
	Exit    ops.Exit
	Failure *Failure
	Never   bool
}

func (m *ExecReply) fields(c *codec) {
	x := &m.Exit
	c.int(&x.Code)
	c.string(&x.Signal)
	c.bool(&x.TimedOut)
	c.string(&x.Shell)
	c.bool(&x.Background)
	c.int(&x.Killed)
	c.strings(&x.Survivors)
	c.string(&x.Unverified)
	c.strings(&x.Limits)
	c.string(&x.SpillPath)
	c.int64(&x.SpillSize)
	c.bool(&x.SpillCut)
	optional(c, &m.Failure)
	c.bool(&m.Never)
}
