package wire

import (
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

// OpenRequest opens a view: a working folder with what may be reached from it.
// "~" at the beginning of a path is the account's home.
type OpenRequest struct {
	Dir, Root string
	// Extra are further folders that may be reached. Those of a session's first
	// request hold for all its views.
	Extra []ops.Root
}

func (m *OpenRequest) fields(c *codec) { c.string(&m.Dir); c.string(&m.Root); roots(c, &m.Extra) }

func roots(c *codec, v *[]ops.Root) {
	list(c, v, func(r *ops.Root) { c.string(&r.Path); c.bool(&r.ReadOnly) })
}

// OpenReply names the view for the requests to come. The same folders get the
// same number.
type OpenReply struct {
	View      uint32
	Dir, Root string // canonical
	Extra     []ops.Root
	Weaker    []string
	// NoCommands says that no shell is there, so that no command can be given.
	NoCommands bool
}

func (m *OpenReply) fields(c *codec) {
	c.uint32(&m.View)
	c.string(&m.Dir)
	c.string(&m.Root)
	roots(c, &m.Extra)
	c.strings(&m.Weaker)
	c.bool(&m.NoCommands)
}

// PathRequest asks about a path.
type PathRequest struct {
	View uint32
	Path string
}

func (m *PathRequest) fields(c *codec) { c.uint32(&m.View); c.string(&m.Path) }

// PathReply is a path.
type PathReply struct{ Path string }

func (m *PathReply) fields(c *codec) { c.string(&m.Path) }

// FileVersion is an ops.Version on its way.
type FileVersion ops.Version

func (m *FileVersion) fields(c *codec) {
	c.uint64(&m.ID.Device)
	c.uint64(&m.ID.Inode)
	c.int64(&m.Size)
	c.time(&m.Modified)
}

// ReadRequest asks for a part of a file.
type ReadRequest struct {
	View   uint32
	Path   string
	Limit  int64 // of the whole file; ops.ErrTooLarge beyond; zero means none
	Offset int64
	Length int64 // bytes at most
	// Same, unless nil, is the version that it must be; else ops.ErrChanged.
	Same *FileVersion
}

func (m *ReadRequest) fields(c *codec) {
	c.uint32(&m.View)
	c.string(&m.Path)
	c.int64(&m.Limit)
	c.int64(&m.Offset)
	c.int64(&m.Length)
	optional(c, &m.Same)
}

// ReadReply is what was read.
type ReadReply struct {
	Version FileVersion
	End     bool   // the part reaches the end of the file
	Data    []byte // shares memory with the payload
}

func (m *ReadReply) fields(c *codec) { m.Version.fields(c); c.bool(&m.End); c.bytes(&m.Data) }

// WindowRequest asks for lines.
type WindowRequest struct {
	View   uint32
	Path   string
	Window ops.WindowRequest
}

func (m *WindowRequest) fields(c *codec) {
	c.uint32(&m.View)
	c.string(&m.Path)
	c.int(&m.Window.Offset)
	c.int(&m.Window.Limit)
	c.int(&m.Window.MaxBytes)
}

// WindowReply holds them; the bytes share memory with the payload.
type WindowReply struct{ Window ops.Window }

func (m *WindowReply) fields(c *codec) {
	c.bytes(&m.Window.Data)
	c.int(&m.Window.Lines)
	c.int(&m.Window.TotalLines)
	c.int64(&m.Window.LineBytes)
	c.int64(&m.Window.Size)
	c.bytes(&m.Window.Head)
	c.bool(&m.Window.Invalid)
	(*FileVersion)(&m.Window.Version).fields(c)
}

// StatReply describes a file.
type StatReply struct{ Info ops.FileInfo }

func (m *StatReply) fields(c *codec) {
	mode := uint32(m.Info.FileMode)
	c.string(&m.Info.FileName)
	c.int64(&m.Info.FileSize)
	c.uint32(&mode)
	m.Info.FileMode = fs.FileMode(mode)
	c.time(&m.Info.Modified)
	c.uint64(&m.Info.ID.Device)
	c.uint64(&m.Info.ID.Inode)
}

// Entries are some entries of a folder.
type Entries struct{ List []ops.DirEntry }

func (m *Entries) fields(c *codec) {
	list(c, &m.List, func(e *ops.DirEntry) {
		mode := uint32(e.EntryType)
		c.string(&e.EntryName)
		c.uint32(&mode)
		e.EntryType = fs.FileMode(mode)
	})
}

// optional moves something that may be missing.
func optional[T any, P interface {
	*T
	Message
}](c *codec, v *P) {
	there := *v != nil
	c.bool(&there)
	if c.decoding {
		if *v = nil; there {
			*v = new(T)
		}
	}
	if !there {
		return
	}
	(*v).fields(c)
}
