package wire

import "time"

// Hello is the client's first frame.
type Hello struct {
	Version  uint32
	Compress bool // frames may be compressed
	// Session and Secret name the client's session, whose first connection makes
	// it. Session is a file name; Secret is never stored as it is.
	Session string
	Secret  string
	// Resume says that the session exists. Who presents another secret is refused.
	Resume bool
	// Extra is a further connection of a session, for bulk. Other connections take
	// the session over: the one before is cut off first.
	Extra bool
	// Lease is how long commands go on without a client; zero ends them with the
	// connection.
	Lease time.Duration
	// Silence is how long the server may hear nothing until it gives the
	// connection up; zero means for ever.
	Silence time.Duration
}

func (m *Hello) fields(c *codec) {
	c.uint32(&m.Version)
	c.bool(&m.Compress)
	c.string(&m.Session)
	c.string(&m.Secret)
	c.bool(&m.Resume)
	c.bool(&m.Extra)
	c.duration(&m.Lease)
	c.duration(&m.Silence)
}

// Welcome is the server's first frame.
type Welcome struct {
	Version uint32
	OS      string
	Home    string
	// Resumed says that the session was there: its views and commands still are.
	Resumed bool
	// Resumable says that the session outlives its connection, if only to tell what
	// became of changes.
	Resumable bool
}

func (m *Welcome) fields(c *codec) {
	c.uint32(&m.Version)
	c.string(&m.OS)
	c.string(&m.Home)
	c.bool(&m.Resumed)
	c.bool(&m.Resumable)
}

// Method says what a request asks for.
type Method byte

// The methods, with the messages of request and result, and of the items that
// come before.
const (
	MethodOpen       Method = iota + 1 // OpenRequest, OpenReply
	MethodAccess                       // PathRequest, nothing
	MethodRead                         // ReadRequest, ReadReply
	MethodReadWindow                   // WindowRequest, WindowReply
	MethodStat                         // PathRequest, StatReply
	MethodReadDir                      // PathRequest, nothing; items: Entries
	MethodCanonical                    // PathRequest, PathReply
	MethodMkdirAll                     // PathRequest, nothing
	MethodWrite                        // WriteRequest, WriteReply
	MethodEdit                         // EditRequest, EditReply
	MethodSearch                       // SearchRequest, SearchReply; items: Lines
	MethodGlob                         // GlobRequest, SearchReply; items: Paths
	MethodExec                         // ExecRequest, ExecReply; items: Output
	MethodAttach                       // AttachRequest, as MethodExec
	MethodAsk                          // AskRequest, AskReply
)

// Request is the payload of TypeRequest.
type Request struct {
	Method Method
	Window uint32 // bytes of items that may be under way until a Credit comes
	Upload uint64 // number of the upload that is the body; zero: it is in Body
	// Change names a change, so that it can be asked for later what became of it;
	// empty for everything else.
	Change string
	Body   []byte // the method's message; shares memory with the payload
}

func (m *Request) fields(c *codec) {
	n := uint32(m.Method)
	c.uint32(&n)
	if n > 255 {
		c.fail()
		n = 0
	}
	if c.decoding {
		m.Method = Method(n)
	}
	c.uint32(&m.Window)
	c.uint64(&m.Upload)
	c.string(&m.Change)
	c.bytes(&m.Body)
}

// Credit lets so many more bytes of items come.
type Credit struct{ Bytes uint32 }

func (m *Credit) fields(c *codec) { c.uint32(&m.Bytes) }
