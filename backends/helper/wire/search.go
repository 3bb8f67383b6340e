package wire

import "github.com/piremote/piremote/tools/ops"

// SearchRequest searches contents.
type SearchRequest struct {
	View   uint32
	Search ops.SearchRequest
}

func (m *SearchRequest) fields(c *codec) {
	c.uint32(&m.View)
	s := &m.Search
	c.string(&s.Root)
	c.string(&s.Path)
	c.string(&s.Pattern)
	c.bool(&s.Literal)
	c.bool(&s.IgnoreCase)
	c.string(&s.Glob)
	c.int(&s.Context)
	c.int(&s.Limit)
	c.int(&s.MaxLine)
}

// Lines are some lines that a search found.
type Lines struct{ List []ops.SearchLine }

func (m *Lines) fields(c *codec) {
	list(c, &m.List, func(l *ops.SearchLine) {
		c.string(&l.Path)
		c.int(&l.Line)
		c.string(&l.Text)
		c.bool(&l.Context)
		c.bool(&l.Binary)
		c.bool(&l.Cut)
	})
}

// GlobRequest searches names.
type GlobRequest struct {
	View uint32
	Glob ops.GlobRequest
}

func (m *GlobRequest) fields(c *codec) {
	c.uint32(&m.View)
	c.string(&m.Glob.Root)
	c.string(&m.Glob.Path)
	c.string(&m.Glob.Pattern)
	c.int(&m.Glob.Limit)
}

// Paths are some paths that a search found.
type Paths struct{ List []string }

func (m *Paths) fields(c *codec) { c.strings(&m.List) }

// SearchReply closes a search.
type SearchReply struct{ Report ops.SearchReport }

func (m *SearchReply) fields(c *codec) {
	c.bool(&m.Report.Limited)
	c.int(&m.Report.Unreadable)
	c.strings(&m.Report.Notes)
}
