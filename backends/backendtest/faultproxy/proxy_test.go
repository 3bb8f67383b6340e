package faultproxy

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo starts a server that returns what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func start(t *testing.T, o Options) (*Proxy, net.Conn) {
	t.Helper()
	o.Target = echo(t)
	p, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, c
}

func say(t *testing.T, c net.Conn, data []byte) []byte {
	t.Helper()
	if _, err := c.Write(data); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestDelayCountsAndSwitches(t *testing.T) {
	p, c := start(t, Options{Delay: 50 * time.Millisecond})
	begin := time.Now()
	for i := range 3 {
		if got := say(t, c, []byte{byte(i), 7}); got[0] != byte(i) {
			t.Fatalf("got %v", got)
		}
	}
	if d := time.Since(begin); d < 300*time.Millisecond || d > 2*time.Second {
		t.Errorf("3 round trips of 100 ms took %v", d)
	}
	if got, want := p.Counts(), (Counts{Connections: 1, Up: 6, Down: 6, Switches: 6}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	p.ResetCounts()
	if got := p.Counts(); got != (Counts{}) {
		t.Errorf("counts after reset %+v", got)
	}
}

func TestBandwidth(t *testing.T) {
	_, c := start(t, Options{Bandwidth: 1 << 20})
	data := bytes.Repeat([]byte("x"), 256<<10)
	begin := time.Now()
	if got := say(t, c, data); !bytes.Equal(got, data) {
		t.Error("bytes differ")
	}
	if d := time.Since(begin); d < 200*time.Millisecond {
		t.Errorf("256 KiB at 1 MiB/s took %v", d)
	}
}

func TestBlackHoleIsSilentAndOpen(t *testing.T) {
	p, c := start(t, Options{})
	say(t, c, []byte("a"))
	p.BlackHole(true)
	if _, err := c.Write([]byte("b")); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	var ne net.Error
	if _, err := c.Read(make([]byte, 1)); err == nil || !asNet(err, &ne) || !ne.Timeout() {
		t.Errorf("read: %v, want a timeout", err)
	}
}

func TestStallSparesNewConnections(t *testing.T) {
	p, c := start(t, Options{})
	p.StallAfter(Up, 3)
	if _, err := c.Write([]byte("12345")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); p.Counts().Up < 3 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	next, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	if got := say(t, next, []byte("abc")); string(got) != "abc" {
		t.Errorf("the new connection says %q", got)
	}
	if p.Counts().Up > 6 {
		t.Errorf("%+v", p.Counts())
	}
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	var ne net.Error
	if _, err := io.ReadAll(c); !asNet(err, &ne) || !ne.Timeout() {
		t.Errorf("the stalled connection says %v", err)
	}
}

func TestResetAndCut(t *testing.T) {
	p, c := start(t, Options{})
	say(t, c, []byte("a"))
	p.CutAfter(Down, 3)
	if _, err := c.Write([]byte("12345")); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	got, err := io.ReadAll(c)
	if err == nil || len(got) > 3 {
		t.Errorf("got %q, %v; want a reset after at most 3 bytes", got, err)
	}
	c2, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c2.Close() }()
	say(t, c2, []byte("z"))
	p.Reset()
	_ = c2.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c2.Read(make([]byte, 1)); err == nil || err == io.EOF { //nolint:errorlint // EOF is what must not come
		t.Errorf("after RST: %v", err)
	}
}

func asNet(err error, target *net.Error) bool {
	ne, ok := err.(net.Error) //nolint:errorlint // straight from the connection
	*target = ne
	return ok
}
