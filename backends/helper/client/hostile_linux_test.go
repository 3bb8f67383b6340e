package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// hostile is a helper that breaks the protocol. It greets and opens views as a
// good one does, unless it is told otherwise.
type hostile struct {
	net.Conn

	in  *wire.Reader
	out *wire.Writer
	// greet, if set, says what comes in the place of the welcome.
	greet func(h *hostile)
	// view is the number that opened views get; 0: their own.
	view func(n uint32) uint32
	// answer gets every request but those that open a view.
	answer func(h *hostile, id uint32, r wire.Request)
}

func (h *hostile) say(kind wire.Type, id uint32, m wire.Message) {
	f := wire.Frame{Type: kind, Request: id}
	if m != nil {
		f.Payload = wire.Encode(m)
	}
	_ = h.out.Write(f) // the client may have gone
}

func (h *hostile) raw(text string) { _, _ = io.WriteString(h.Conn, text) } // as above

// serve obeys a client until it goes.
func (h *hostile) serve() {
	h.in, h.out = wire.NewReader(h.Conn), wire.NewWriter(h.Conn)
	defer func() { _ = h.Close() }()
	if _, err := h.in.Read(); err != nil {
		return
	}
	if h.greet != nil {
		h.greet(h)
	} else {
		h.say(wire.TypeWelcome, 0, &wire.Welcome{Version: wire.Version, OS: "linux", Home: "/", Resumed: true, Resumable: true})
	}
	opened := uint32(0)
	for {
		f, err := h.in.Read()
		if err != nil {
			return
		}
		switch f.Type {
		case wire.TypePing:
			h.say(wire.TypePong, 0, nil)
		case wire.TypeBye:
			h.say(wire.TypeBye, 0, nil)
		case wire.TypeRequest:
			var r wire.Request
			if wire.Decode(f.Payload, &r) != nil {
				return
			}
			if r.Method != wire.MethodOpen {
				h.answer(h, f.Request, r)
				continue
			}
			opened++
			n := opened
			if h.view != nil {
				n = h.view(n)
			}
			h.say(wire.TypeResult, f.Request, &wire.OpenReply{View: n, Dir: "/", Root: "/"})
		default:
		}
	}
}

// dialHostile returns what starts copies of a hostile helper, and how often it did.
func dialHostile(t *testing.T, h hostile) (dial func(context.Context) (io.ReadWriteCloser, error), dials func() int) {
	t.Helper()
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	var mu sync.Mutex
	n := 0
	return func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := pair(t)
			mu.Lock()
			defer mu.Unlock()
			n++
			one := h
			one.Conn = theirs
			wg.Go(one.serve)
			return ours, nil
		}, func() int {
			mu.Lock()
			defer mu.Unlock()
			return n
		}
}

func openHostile(t *testing.T, h hostile, change func(*client.Options)) (*client.Workspace, error) {
	t.Helper()
	dial, _ := dialHostile(t, h)
	o := client.Options{Label: "helper:", Dir: "/", Dial: dial, Keepalive: time.Hour}
	if change != nil {
		change(&o)
	}
	w, err := client.Open(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = w.Close() })
	}
	return w, err
}

// within fails a test in which something hangs; it lasts a fraction of this.
const within = time.Minute

// soon runs what must not hang.
func soon(t *testing.T, do func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), within, errHangs)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		if errors.Is(err, errHangs) {
			t.Error(err)
		}
		return err
	case <-time.After(within + 20*time.Second):
		t.Fatal("it hangs, and does not hear its context")
		return nil
	}
}

var errHangs = errors.New("it hangs")

// What a helper says before anything was asked ends the opening with a typed
// error.
func TestHelperThatBreaksTheGreeting(t *testing.T) {
	good := &wire.Welcome{Version: wire.Version, OS: "linux", Home: "/"}
	for name, c := range map[string]struct {
		greet func(h *hostile)
		kind  ops.Kind
		words string
	}{
		"garbage":        {func(h *hostile) { h.raw(strings.Repeat("Last login: today\r\n", 10)) }, ops.KindProtocol, "larger than"},
		"oversized":      {func(h *hostile) { h.raw("\xff\xff\xff\x7f\x00\x00\x00\x00W\x00") }, ops.KindProtocol, "larger than"},
		"flags":          {func(h *hostile) { h.raw("\x00\x00\x00\x00\x00\x00\x00\x00W\x80") }, ops.KindProtocol, "unknown flags"},
		"bad deflate":    {func(h *hostile) { h.raw("\x02\x00\x00\x00\x00\x00\x00\x00W\x01\xff\xff") }, ops.KindProtocol, "damaged"},
		"empty":          {func(h *hostile) { h.say(wire.TypeWelcome, 0, nil) }, ops.KindProtocol, "can't be decoded"},
		"twice":          {func(h *hostile) { h.say(wire.TypeWelcome, 0, good); h.say(wire.TypeWelcome, 0, good) }, ops.KindProtocol, "out of place"},
		"unknown type":   {func(h *hostile) { h.say('?', 0, nil) }, ops.KindProtocol, "out of place"},
		"a request":      {func(h *hostile) { h.say(wire.TypeRequest, 1, nil) }, ops.KindProtocol, "out of place"},
		"unasked result": {func(h *hostile) { h.say(wire.TypeResult, 77, nil) }, ops.KindProtocol, "out of place"},
		"unasked item":   {func(h *hostile) { h.say(wire.TypeItem, 1, nil) }, ops.KindProtocol, "broke the protocol"},
		"bad refusal":    {func(h *hostile) { h.say(wire.TypeError, 0, nil) }, ops.KindProtocol, "can't be decoded"},
		"truncated head": {func(h *hostile) { h.raw("\x01\x00"); _ = h.Close() }, ops.KindUnavailable, "lost"},
		"truncated body": {func(h *hostile) { h.raw("\x09\x00\x00\x00\x00\x00\x00\x00W\x00abc"); _ = h.Close() }, ops.KindUnavailable, "lost"},
		"goodbye":        {func(h *hostile) { h.say(wire.TypeBye, 0, nil) }, ops.KindUnavailable, "lost"},
		"nothing":        {func(h *hostile) { _ = h.Close() }, ops.KindUnavailable, "lost"},
		"refusal": {func(h *hostile) {
			h.say(wire.TypeError, 0, wire.FailureOf(&ops.TransportError{Kind: ops.KindAuth, Msg: "go away"}))
		}, ops.KindAuth, "go away"},
	} {
		t.Run(name, func(t *testing.T) {
			err := soon(t, func(context.Context) error {
				_, err := openHostile(t, hostile{greet: c.greet}, nil) //nolint:contextcheck // closing has a time of its own
				return err
			})
			if ops.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v (kind %q), want %q and %q", err, ops.KindOf(err), c.kind, c.words)
			}
		})
	}
}

// A helper that hears and says nothing is given up (hazard SSHC-03).
func TestHelperThatNeverAnswers(t *testing.T) {
	deaf := func(o *client.Options) { o.Keepalive, o.KeepaliveCount = 20*time.Millisecond, 1 }
	err := soon(t, func(context.Context) error {
		_, err := openHostile(t, hostile{greet: func(h *hostile) { _, _ = io.Copy(io.Discard, h) }}, deaf) //nolint:contextcheck // closing has a time of its own
		return err
	})
	if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), "stopped answering") {
		t.Errorf("open: %v", err)
	}
	// One that goes on answering pings is waited for as long as the caller likes.
	var asked sync.WaitGroup
	asked.Add(1)
	w, err := openHostile(t, hostile{answer: func(*hostile, uint32, wire.Request) { asked.Done() }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { asked.Wait(); cancel() }()
	err = soon(t, func(context.Context) error {
		_, err := w.Set().Read.ReadFile(ctx, "/f", 0)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
}

// A view has a number that can be its own.
func TestHelperThatNumbersViewsWrongly(t *testing.T) {
	for _, n := range []uint32{0, 3, 1<<32 - 1} {
		err := soon(t, func(context.Context) error {
			_, err := openHostile(t, hostile{view: func(uint32) uint32 { return n }}, nil) //nolint:contextcheck // closing has a time of its own
			return err
		})
		if ops.KindOf(err) != ops.KindProtocol {
			t.Errorf("number %d: %v", n, err)
		}
		w, err := openHostile(t, hostile{view: func(i uint32) uint32 {
			if i < 3 {
				return i
			}
			return n * 2
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := soon(t, func(context.Context) error { _, err := w.Set().At("/", "/"); return err }); ops.KindOf(err) != ops.KindProtocol {
			t.Errorf("number %d of a further one: %v", n*2, err)
		}
	}
}

// answering is a helper that answers all requests in the same way.
func answering(answer func(h *hostile, id uint32)) hostile {
	return hostile{answer: func(h *hostile, id uint32, _ wire.Request) { answer(h, id) }}
}

// What a helper answers to a read that is no answer ends the call with a typed
// error, soon and with little memory.
func TestHelperThatBreaksAnAnswer(t *testing.T) {
	huge := make([]byte, wire.MaxPayload)
	for name, c := range map[string]struct {
		answer func(h *hostile, id uint32)
		words  string
	}{
		"garbage result":  {func(h *hostile, id uint32) { h.say(wire.TypeResult, id, &wire.Credit{Bytes: 1}) }, "can't be decoded"},
		"garbage failure": {func(h *hostile, id uint32) { h.say(wire.TypeError, id, nil) }, "can't be decoded"},
		"item":            {func(h *hostile, id uint32) { h.say(wire.TypeItem, id, nil) }, "not asked for"},
		"another request": {func(h *hostile, id uint32) { h.say(wire.TypeResult, id+1, nil) }, "out of place"},
		"no end": {func(h *hostile, id uint32) {
			for range 100 {
				if h.out.Write(wire.Frame{Type: wire.TypeMore, Request: id, Payload: huge}) != nil {
					return
				}
			}
		}, "larger than"},
		"empty part": {func(h *hostile, id uint32) { h.say(wire.TypeResult, id, &wire.ReadReply{}) }, "0 bytes"},
		"large part": {func(h *hostile, id uint32) {
			payload := wire.Encode(&wire.ReadReply{End: true, Data: make([]byte, wire.MaxPayload+1)})
			_ = h.out.Write(wire.Frame{Type: wire.TypeMore, Request: id, Payload: payload[:wire.MaxPayload]})
			_ = h.out.Write(wire.Frame{Type: wire.TypeResult, Request: id, Payload: payload[wire.MaxPayload:]})
		}, "no part of"},
		"no progress": {func(h *hostile, id uint32) {
			h.say(wire.TypeResult, id, &wire.ReadReply{Version: wire.FileVersion{Size: 9}})
		}, "0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := openHostile(t, answering(c.answer), nil)
			if err != nil {
				t.Fatal(err)
			}
			err = soon(t, func(ctx context.Context) error {
				_, err := w.Set().Read.ReadFile(ctx, "/f", 1<<20)
				return err
			})
			if ops.KindOf(err) != ops.KindProtocol || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v (kind %q), want %q", err, ops.KindOf(err), c.words)
			}
		})
	}
}

// A size that a helper only claims takes no memory, and a limit holds against what
// it sends.
func TestHelperThatLiesAboutASize(t *testing.T) {
	for _, size := range []int64{-1, 0, 9, 1 << 40, 1<<63 - 1} {
		w, err := openHostile(t, answering(func(h *hostile, id uint32) {
			h.say(wire.TypeResult, id, &wire.ReadReply{Version: wire.FileVersion{Size: size}, Data: make([]byte, 1<<19)})
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = soon(t, func(ctx context.Context) error {
			_, err := w.Set().Read.ReadFile(ctx, "/f", 4<<20)
			return err
		})
		if !errors.Is(err, ops.ErrTooLarge) {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// A stream of a file ends when the helper makes no progress.
func TestHelperThatStreamsNothing(t *testing.T) {
	var first sync.Once
	w, err := openHostile(t, answering(func(h *hostile, id uint32) {
		r := &wire.ReadReply{}
		first.Do(func() { r.Data = []byte("x") })
		h.say(wire.TypeResult, id, r)
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	opener, ok := w.Set().Read.(ops.Opener)
	if !ok {
		t.Fatal("no opener")
	}
	err = soon(t, func(ctx context.Context) error {
		r, err := opener.Open(ctx, "/f")
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		_, err = io.ReadAll(r)
		return err
	})
	if ops.KindOf(err) != ops.KindProtocol {
		t.Errorf("%v", err)
	}
}

// A change whose answer breaks the protocol has an unknown end, and the broken
// helper is not asked again and again.
func TestHelperThatBreaksAChange(t *testing.T) {
	lost := func(fate *wire.AskReply) func(*hostile, uint32, wire.Request) {
		return func(h *hostile, id uint32, r wire.Request) {
			if r.Method == wire.MethodAsk && fate != nil {
				h.say(wire.TypeResult, id, fate)
				return
			}
			_ = h.Close()
		}
	}
	for name, answer := range map[string]func(*hostile, uint32, wire.Request){
		"garbage":                       func(h *hostile, id uint32, _ wire.Request) { h.say(wire.TypeResult, id, &wire.Credit{Bytes: 1}) },
		"item":                          func(h *hostile, id uint32, _ wire.Request) { h.say(wire.TypeItem, id, nil) },
		"oversized":                     func(h *hostile, _ uint32, _ wire.Request) { h.raw("\xff\xff\xff\x7f\x00\x00\x00\x00R\x00") },
		"garbage as fate":               lost(&wire.AskReply{Fate: wire.FateDone, Result: []byte("what")}),
		"unknown fate":                  lost(&wire.AskReply{Fate: wire.FateUnknown}),
		"strange fate":                  lost(&wire.AskReply{Fate: 99}),
		"always lost and never applied": lost(&wire.AskReply{Fate: wire.FateNever}),
	} {
		t.Run(name, func(t *testing.T) {
			dial, dials := dialHostile(t, hostile{answer: answer})
			w, err := client.Open(t.Context(), client.Options{Label: "helper:", Dir: "/", Dial: dial, Keepalive: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			err = soon(t, func(ctx context.Context) error {
				_, err := w.Set().Write.WriteFile(ctx, "/f", []byte("x"))
				return err
			})
			if ops.KindOf(err) != ops.KindOutcomeUnknown {
				t.Errorf("%v (kind %q)", err, ops.KindOf(err))
			}
			if n := dials(); n > 10 {
				t.Errorf("the helper was started %d times", n)
			}
		})
	}
}

// output is a part of a command's output as it travels.
func output(offset, dropped int64, data string) *wire.Output {
	return &wire.Output{Offset: offset, Chunk: ops.Chunk{Dropped: dropped, Data: []byte(data)}}
}

// A command whose output breaks the protocol has an unknown end.
func TestHelperThatBreaksACommand(t *testing.T) {
	for name, answer := range map[string]func(h *hostile, id uint32){
		"gap": func(h *hostile, id uint32) {
			h.say(wire.TypeItem, id, output(0, 0, "ab"))
			h.say(wire.TypeItem, id, output(3, 0, "d"))
		},
		"again": func(h *hostile, id uint32) {
			h.say(wire.TypeItem, id, output(0, 0, "ab"))
			h.say(wire.TypeItem, id, output(0, 0, "ab"))
		},
		"ahead":            func(h *hostile, id uint32) { h.say(wire.TypeItem, id, output(1<<62, 0, "ab")) },
		"negative offset":  func(h *hostile, id uint32) { h.say(wire.TypeItem, id, output(-1, 0, "ab")) },
		"negative dropped": func(h *hostile, id uint32) { h.say(wire.TypeItem, id, output(0, -2, "ab")) },
		"overflow":         func(h *hostile, id uint32) { h.say(wire.TypeItem, id, output(0, 1<<63-1, "ab")) },
		"garbage":          func(h *hostile, id uint32) { h.say(wire.TypeItem, id, &wire.Credit{Bytes: 9}) },
		"garbage reply":    func(h *hostile, id uint32) { h.say(wire.TypeResult, id, &wire.Credit{Bytes: 9}) },
	} {
		t.Run(name, func(t *testing.T) {
			w, err := openHostile(t, answering(answer), func(o *client.Options) { o.Lease = time.Hour })
			if err != nil {
				t.Fatal(err)
			}
			err = soon(t, func(ctx context.Context) error {
				_, err := w.Set().Bash.Exec(ctx, ops.Command{Script: "x", Dir: "/"}, func(c ops.Chunk) {
					if c.Dropped < 0 {
						t.Error("the caller was told of", c.Dropped, "bytes that were dropped")
					}
				})
				return err
			})
			if ops.KindOf(err) != ops.KindOutcomeUnknown || !errors.Is(err, wire.ErrProtocol) {
				t.Errorf("%v (kind %q)", err, ops.KindOf(err))
			}
		})
	}
}

// A helper that sends more than it was given room for is cut off, however slowly
// the output is taken.
func TestHelperThatIgnoresTheWindow(t *testing.T) {
	cut := make(chan struct{})
	w, err := openHostile(t, answering(func(h *hostile, id uint32) {
		data := strings.Repeat("x", 512<<10)
		for i := int64(0); ; i++ {
			if h.out.Write(wire.Frame{Type: wire.TypeItem, Request: id, Payload: wire.Encode(output(i<<19, 0, data))}) != nil {
				break
			}
		}
		close(cut)
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	err = soon(t, func(ctx context.Context) error {
		_, err := w.Set().Bash.Exec(ctx, ops.Command{Script: "x", Dir: "/"}, func(c ops.Chunk) {
			taken += len(c.Data)
			<-cut
		})
		return err
	})
	if ops.KindOf(err) != ops.KindOutcomeUnknown || !errors.Is(err, wire.ErrProtocol) {
		t.Errorf("%v (kind %q)", err, ops.KindOf(err))
	}
	if taken > 4<<20 {
		t.Errorf("%d bytes were taken", taken)
	}
}
