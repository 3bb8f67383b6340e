package wire

// The body of a request that does not fit a frame is uploaded before, in parts of
// PartSize but the last, over any connections of the session and in any order. On
// each connection frames are taken in order: who has sent Upload and all parts on
// one may send the request at once; before parts go over another, a TypePong must
// have come back on the first.
const (
	// InlineSize is the largest body that a request carries itself.
	InlineSize = MaxPayload - 1<<10
	PartSize   = 512 << 10
	// MaxUpload bounds an upload, and MaxUploads all of a session together, in
	// bytes.
	MaxUpload  = 256 << 20
	MaxUploads = 2 * MaxUpload
)

// Upload announces a body.
type Upload struct {
	Upload uint64 // its number; not zero, and no other's
	Size   int64
}

func (m *Upload) fields(c *codec) { c.uint64(&m.Upload); c.int64(&m.Size) }

// Part is a part of it; one of an upload that is not known is thrown away.
type Part struct {
	Upload uint64
	Offset int64  // a multiple of PartSize
	Data   []byte // shares memory with the payload
}

func (m *Part) fields(c *codec) {
	c.uint64(&m.Upload)
	c.int64(&m.Offset)
	c.bytes(&m.Data)
}
