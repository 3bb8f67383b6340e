package wire

import "github.com/piremote/piremote/tools/ops"

// WriteMode says what a WriteRequest does.
type WriteMode uint32

// The modes.
const (
	WriteFile WriteMode = iota // ops.WriteOperations
	WriteTree                  // ops.TreeWriter
	WriteSwap                  // ops.Replacer
)

// WriteRequest replaces the content of a file.
type WriteRequest struct {
	View   uint32
	Path   string
	Mode   WriteMode
	Expect ops.Expect // of WriteSwap
	Data   []byte     // shares memory with the payload
}

func (m *WriteRequest) fields(c *codec) {
	mode := uint32(m.Mode)
	c.uint32(&m.View)
	c.string(&m.Path)
	c.uint32(&mode)
	m.Mode = WriteMode(mode)
	c.bool(&m.Expect.Exists)
	c.int64(&m.Expect.Size)
	c.string(&m.Expect.Hash)
	c.bytes(&m.Data)
}

// WriteReply says how a file was written.
type WriteReply struct{ Report ops.WriteReport }

func (m *WriteReply) fields(c *codec) { writeReport(c, &m.Report) }

func writeReport(c *codec, r *ops.WriteReport) {
	c.string(&r.Path)
	c.bool(&r.Created)
	c.string(&r.InPlace)
	c.string(&r.Kept)
	(*FileVersion)(&r.Version).fields(c)
}

// EditRequest replaces pieces of a file.
type EditRequest struct {
	View uint32
	Path string
	Edit ops.EditRequest
}

func (m *EditRequest) fields(c *codec) {
	c.uint32(&m.View)
	c.string(&m.Path)
	c.string(&m.Edit.Name)
	list(c, &m.Edit.Edits, func(r *ops.Replacement) { c.string(&r.Old); c.string(&r.New) })
	c.int64(&m.Edit.Limit)
	c.string(&m.Edit.Expect)
}

// EditReply says what was changed.
type EditReply struct{ Report ops.EditReport }

func (m *EditReply) fields(c *codec) {
	writeReport(c, &m.Report.WriteReport)
	c.string(&m.Report.Before)
	c.string(&m.Report.After)
	c.string(&m.Report.Diff)
	c.string(&m.Report.Patch)
	c.int(&m.Report.FirstChangedLine)
	list(c, &m.Report.Tolerant, c.int)
}

// AskRequest asks what became of a change whose answer was lost.
type AskRequest struct{ Change string }

func (m *AskRequest) fields(c *codec) { c.string(&m.Change) }

// Fate is what became of a change.
type Fate uint32

// The fates.
const (
	FateNever   Fate = iota // it did not arrive or was not applied, and won't be any more
	FateDone                // it was applied, or failed: Result or Failure
	FateUnknown             // it was begun, and its end is not known
)

// AskReply says what became of it.
type AskReply struct {
	Fate    Fate
	Result  []byte // the method's; from a journal, without the differences of an edit
	Failure *Failure
}

func (m *AskReply) fields(c *codec) {
	n := uint32(m.Fate)
	c.uint32(&n)
	m.Fate = Fate(n)
	c.bytes(&m.Result)
	optional(c, &m.Failure)
}

// Record is an entry of the journal of changes: first what is about to happen,
// then how it ended. It holds no content.
type Record struct {
	Change string
	Ended  bool
	// Of the beginning: the file as it was, and the hash that a write gives it.
	Path   string
	View   uint32
	Before *FileVersion
	After  string
	// Of the end.
	Edit    bool
	Report  ops.WriteReport
	Hashes  [2]string // of an edit
	Failure *Failure
}

func (m *Record) fields(c *codec) {
	c.string(&m.Change)
	c.bool(&m.Ended)
	c.string(&m.Path)
	c.uint32(&m.View)
	optional(c, &m.Before)
	c.string(&m.After)
	c.bool(&m.Edit)
	writeReport(c, &m.Report)
	c.string(&m.Hashes[0])
	c.string(&m.Hashes[1])
	optional(c, &m.Failure)
}
