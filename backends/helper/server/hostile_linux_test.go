package server

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// Who does not say hello as he should is told why he is not served.
func TestClientThatBreaksTheGreeting(t *testing.T) {
	with := func(change func(*wire.Hello)) func(*peer) {
		h := hello()
		change(h)
		return func(p *peer) { p.say(wire.TypeHello, 0, h) }
	}
	for name, c := range map[string]struct {
		say   func(p *peer)
		words string
	}{
		"garbage":                       {func(p *peer) { p.raw("GET / HTTP/1.1\r\nHost: example\r\n\r\n") }, "larger than"},
		"oversized":                     {func(p *peer) { p.raw("\xff\xff\xff\xff\x00\x00\x00\x00H\x00") }, "larger than"},
		"flags":                         {func(p *peer) { p.raw("\x00\x00\x00\x00\x00\x00\x00\x00H\x02") }, "unknown flags"},
		"bad deflate":                   {func(p *peer) { p.raw("\x02\x00\x00\x00\x00\x00\x00\x00H\x01\xff\xff") }, "damaged"},
		"empty":                         {func(p *peer) { p.say(wire.TypeHello, 0, nil) }, "can't be decoded"},
		"another type":                  {func(p *peer) { p.say(wire.TypePing, 0, nil) }, `of type 'p'`},
		"version":                       {with(func(h *wire.Hello) { h.Version++ }), "use the helper that belongs to the client"},
		"no name":                       {with(func(h *wire.Hello) { h.Session = "" }), "no proper name"},
		"a path":                        {with(func(h *wire.Hello) { h.Session = "../../../etc/passwd" }), "no proper name"},
		"long name":                     {with(func(h *wire.Hello) { h.Session = strings.Repeat("a", 65) }), "no proper name"},
		"short secret":                  {with(func(h *wire.Hello) { h.Secret = h.Secret[1:] }), "no proper name or secret"},
		"further connection of nothing": {with(func(h *wire.Hello) { h.Extra = true }), "not there any more"},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, t.TempDir())
			c.say(p)
			why := p.refused()
			if why == nil || !strings.Contains(why.Text, c.words) {
				t.Errorf("refused with %+v, want %q", why, c.words)
			}
			if err := p.end(); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the helper ended with %v", err)
			}
		})
	}
	for name, text := range map[string]string{"nothing": "", "half a header": "\x05\x00", "half a frame": "\x05\x00\x00\x00\x00\x00\x00\x00H\x00ab"} {
		p := dial(t, t.TempDir())
		p.raw(text)
		must(t, p.Close())
		if err := p.end(); err == nil {
			t.Error(name, ": the helper ended without an error")
		}
	}
}

// A frame that breaks the protocol ends the connection with the reason, and the
// session with it.
func TestClientThatBreaksTheProtocol(t *testing.T) {
	frame := func(kind wire.Type, id uint32, m wire.Message) func(*peer) {
		return func(p *peer) { p.say(kind, id, m) }
	}
	// hanging is a request that waits for an upload that never comes.
	hanging := func(p *peer, ids ...uint32) {
		p.say(wire.TypeUpload, 0, &wire.Upload{Upload: 1, Size: 10})
		for _, id := range ids {
			p.say(wire.TypeRequest, id, &wire.Request{Method: wire.MethodStat, Upload: 1})
		}
	}
	upload := func(size int64, parts ...wire.Part) func(*peer) {
		return func(p *peer) {
			p.say(wire.TypeUpload, 0, &wire.Upload{Upload: 7, Size: size})
			for _, part := range parts {
				part.Upload = 7
				p.say(wire.TypePart, 0, &part)
			}
		}
	}
	for name, c := range map[string]struct {
		say   func(p *peer)
		words string
	}{
		"oversized":       {func(p *peer) { p.raw("\x01\x00\x10\x00\x01\x00\x00\x00Q\x00") }, "larger than"},
		"bomb":            {func(p *peer) { p.raw(bomb(t)) }, "holds more than"},
		"unknown type":    {frame('?', 0, nil), "unknown type"},
		"hello again":     {frame(wire.TypeHello, 0, hello()), "out of place"},
		"welcome":         {frame(wire.TypeWelcome, 0, &wire.Welcome{}), "out of place"},
		"item":            {frame(wire.TypeItem, 1, nil), "out of place"},
		"result":          {frame(wire.TypeResult, 1, nil), "out of place"},
		"garbage request": {frame(wire.TypeRequest, 1, &wire.Credit{Bytes: 1}), "can't be decoded"},
		"garbage credit":  {frame(wire.TypeCredit, 1, nil), "can't be decoded"},
		"garbage upload":  {frame(wire.TypeUpload, 0, nil), "can't be decoded"},
		"garbage part":    {frame(wire.TypePart, 0, nil), "can't be decoded"},
		"method 0":        {frame(wire.TypeRequest, 1, &wire.Request{}), "unknown"},
		"method 200":      {frame(wire.TypeRequest, 1, &wire.Request{Method: 200}), "unknown"},
		"request 0":       {frame(wire.TypeRequest, 0, &wire.Request{Method: wire.MethodStat}), "in use"},
		"request twice":   {func(p *peer) { hanging(p, 1, 1) }, "in use"},
		"change twice": {func(p *peer) {
			for id := range uint32(2) {
				p.say(wire.TypeRequest, id+1, &wire.Request{Method: wire.MethodWrite, Change: "same"})
			}
		}, "two changes"},
		"too many requests": {func(p *peer) {
			ids := make([]uint32, maxCalls+1)
			for i := range ids {
				ids[i] = uint32(i) + 1
			}
			hanging(p, ids...)
		}, "requests at once"},
		"upload 0":         {frame(wire.TypeUpload, 0, &wire.Upload{Size: 1}), "in use"},
		"upload twice":     {func(p *peer) { upload(1)(p); upload(1)(p) }, "in use"},
		"empty upload":     {upload(0), "an upload of 0 bytes"},
		"negative upload":  {upload(-1), "an upload of -1 bytes"},
		"oversized upload": {upload(wire.MaxUpload + 1), "an upload of"},
		"huge upload":      {upload(1<<63 - 1), "an upload of"},
		"too many uploads": {func(p *peer) {
			for n := range uint64(3) {
				p.say(wire.TypeUpload, 0, &wire.Upload{Upload: n + 1, Size: wire.MaxUpload})
			}
		}, "beside"},
		"part behind the end":   {upload(10, wire.Part{Offset: wire.PartSize, Data: make([]byte, 10)}), "a part of"},
		"part before the begin": {upload(10, wire.Part{Offset: -wire.PartSize, Data: make([]byte, 10)}), "a part of"},
		"part between":          {upload(10, wire.Part{Offset: 1, Data: make([]byte, 9)}), "a part of"},
		"short part":            {upload(10, wire.Part{Data: make([]byte, 9)}), "a part of"},
		"long part":             {upload(10, wire.Part{Data: make([]byte, 11)}), "a part of"},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, t.TempDir())
			p.greet(hello())
			go c.say(p) // the helper may stop reading before all is said
			why := p.refused()
			if why == nil || why.Form != wire.FormProtocol || !strings.Contains(why.Text, c.words) {
				t.Errorf("refused with %+v, want %q", why, c.words)
			}
			if err := p.end(); !errors.Is(err, wire.ErrProtocol) {
				t.Errorf("the helper ended with %v", err)
			}
		})
	}
}

// bomb is a small frame that becomes larger than any may be.
func bomb(t *testing.T) string {
	t.Helper()
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	must(t, err)
	_, err = w.Write(make([]byte, 2*wire.MaxPayload))
	must(t, err)
	must(t, w.Close())
	frame := binary.LittleEndian.AppendUint32(nil, uint32(packed.Len()))
	frame = append(frame, 0, 0, 0, 0, byte(wire.TypePart), 1)
	return string(append(frame, packed.Bytes()...))
}

// What a request asks for that is not there fails the request alone.
func TestClientThatAsksForNonsense(t *testing.T) {
	p := dial(t, t.TempDir())
	p.greet(hello())
	stat := func(view uint32) *wire.PathRequest { return &wire.PathRequest{View: view, Path: "/"} }
	bodies := map[string]wire.Request{
		"view 0":             {Method: wire.MethodStat, Body: wire.Encode(stat(0))},
		"view 9":             {Method: wire.MethodStat, Body: wire.Encode(stat(9))},
		"view of a command":  {Method: wire.MethodExec, Body: wire.Encode(&wire.ExecRequest{Job: "j", View: 1<<32 - 1})},
		"upload":             {Method: wire.MethodStat, Upload: 99},
		"upload of a change": {Method: wire.MethodWrite, Upload: 99, Change: "a"},
		"garbage":            {Method: wire.MethodStat, Body: []byte("\xff")},
		"garbage change":     {Method: wire.MethodEdit, Body: []byte("\xff"), Change: "b"},
		"nameless command":   {Method: wire.MethodExec, Body: wire.Encode(&wire.ExecRequest{View: 1})},
		"negative part":      {Method: wire.MethodRead, Body: wire.Encode(&wire.ReadRequest{View: 1, Path: "/etc/passwd", Length: -5})},
		"mode":               {Method: wire.MethodWrite, Body: wire.Encode(&wire.WriteRequest{View: 1, Path: "/x", Mode: 99})},
	}
	p.ask(1, wire.MethodOpen, &wire.OpenRequest{Dir: t.TempDir(), Root: "/"})
	if f := p.failure(1); f != nil {
		t.Fatalf("%+v", f)
	}
	id := uint32(1)
	for name, r := range bodies {
		id++
		p.say(wire.TypeRequest, id, &r)
		if p.failure(id) == nil {
			t.Error(name, ": the request succeeded")
		}
	}
	id++
	p.ask(id, wire.MethodStat, stat(1))
	if f := p.failure(id); f != nil {
		t.Errorf("afterwards: %+v", f)
	}
	p.say(wire.TypeCredit, 5555, &wire.Credit{Bytes: 1})
	p.say(wire.TypeCancel, 5555, nil)
	p.say(wire.TypePart, 0, &wire.Part{Upload: 5555, Data: []byte("x")})
	p.say(wire.TypeBye, 0, nil)
	if f := p.hear(); f.Type != wire.TypeBye {
		t.Errorf("the answer to a goodbye is %q", f.Type)
	}
	must(t, p.end())
}

// A command is taken up at an offset that was delivered, and at no other.
func TestClientThatTakesACommandUpAnywhere(t *testing.T) {
	p := dial(t, t.TempDir())
	p.greet(hello())
	dir := t.TempDir()
	p.ask(1, wire.MethodOpen, &wire.OpenRequest{Dir: dir, Root: "/"})
	if f := p.failure(1); f != nil {
		t.Fatalf("%+v", f)
	}
	p.ask(2, wire.MethodExec, &wire.ExecRequest{Job: "j", View: 1, Command: ops.Command{Script: "echo 0123456789", Dir: dir}})
	if f := p.failure(2); f != nil {
		t.Fatalf("%+v", f)
	}
	for i, from := range []int64{-1, 12, 1 << 40, -1 << 63, 1<<63 - 1} {
		id := uint32(i) + 3
		p.ask(id, wire.MethodAttach, &wire.AttachRequest{Job: "j", From: from})
		if f := p.failure(id); f == nil {
			t.Errorf("taken up at %d", from)
		}
	}
	for i, from := range []int64{0, 5, 11} {
		id := uint32(i) + 30
		p.ask(id, wire.MethodAttach, &wire.AttachRequest{Job: "j", From: from})
		if f := p.failure(id); f != nil {
			t.Errorf("not taken up at %d: %+v", from, f)
		}
	}
}

// The helper ends with its client, also while a change waits for content that
// never comes.
func TestClientThatLeavesWhileItUploads(t *testing.T) {
	for _, change := range []string{"", "named"} {
		p := dial(t, t.TempDir())
		p.greet(hello())
		p.say(wire.TypeUpload, 0, &wire.Upload{Upload: 1, Size: wire.MaxUpload})
		p.say(wire.TypeRequest, 1, &wire.Request{Method: wire.MethodWrite, Upload: 1, Change: change})
		p.say(wire.TypePing, 0, nil)
		if f := p.hear(); f.Type != wire.TypePong {
			t.Fatalf("%q", f.Type)
		}
		must(t, p.Close())
		must(t, p.end())
	}
}

// A session is its client's: who has another secret is told so, whether its
// process lives or not, and the session goes on.
func TestSessionIsRefusedToAnotherSecret(t *testing.T) {
	cache := t.TempDir()
	wrong := hello()
	wrong.Secret, wrong.Resume = strings.Repeat("f", 64), true
	refuse := func(when string, extra bool) {
		t.Helper()
		h := *wrong
		h.Extra = extra
		p := dial(t, cache)
		p.say(wire.TypeHello, 0, &h)
		why := p.refused()
		if why == nil || ops.KindOf(why.Err("")) != ops.KindAuth || !strings.Contains(why.Text, "its secret is another one") {
			t.Errorf("%s: refused with %+v", when, why)
		}
		_ = p.end() // a relay ends without an error
	}
	p := dial(t, cache)
	p.greet(hello())
	refuse("alive", false)
	refuse("alive, a further connection", true)
	p.ask(1, wire.MethodOpen, &wire.OpenRequest{Dir: "/", Root: "/"})
	if f := p.failure(1); f != nil {
		t.Errorf("the session was harmed: %+v", f)
	}
	must(t, p.Close())
	must(t, p.end())
	refuse("dead", false)
	again := hello()
	again.Resume = true
	q := dial(t, cache)
	if w := q.greet(again); w.Resumed {
		t.Error("a dead session has come back whole")
	}
}

// The folder of a session must be the account's own, and no link.
func TestSessionFolderMustBePrivate(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(path string)
		words string
	}{
		"link": {func(path string) {
			must(t, os.Mkdir(path+"-real", 0o700))
			must(t, os.Symlink(path+"-real", path))
		}, "it is a link or no folder"},
		"file":  {func(path string) { must(t, os.WriteFile(path, nil, 0o600)) }, "it is a link or no folder"},
		"open":  {func(path string) { must(t, os.Mkdir(path, 0o700)); must(t, os.Chmod(path, 0o750)) }, "its mode is 750"},
		"owned": {func(path string) { must(t, os.Mkdir(path, 0o700)); must(t, os.Chown(path, 65534, -1)) }, "belongs to the account with the number 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "owned" && os.Getuid() != 0 {
				require.Missing(t, "root", "giving a folder away needs it")
			}
			cache := t.TempDir()
			must(t, os.Mkdir(sessionsDir(cache), 0o700))
			h := hello()
			h.Resume = true
			path := filepath.Join(sessionsDir(cache), h.Session)
			c.make(path)
			p := dial(t, cache)
			p.say(wire.TypeHello, 0, h)
			why := p.refused()
			if why == nil || ops.KindOf(why.Err("")) != ops.KindAuth || !strings.Contains(why.Text, path) || !strings.Contains(why.Text, c.words) {
				t.Errorf("refused with %+v", why)
			}
			if err := p.end(); ops.KindOf(err) != ops.KindAuth {
				t.Errorf("the helper ended with %v", err)
			}
		})
	}
}
