package install

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/tools/ops"
)

// Options adjusts a start.
type Options struct {
	// Target names the target in errors, such as ssh://host:22.
	Target string
	// Word is the first argument of the helper, a word of letters; empty means
	// helper.Serve.
	Word string
	// Path is the program, for the target's system and of this bundle, where the
	// caller has put it and nobody else can change it. It is started as it is. Empty
	// means that it is looked for, and carried if it is not there.
	Path string
}

// Report tells how a helper was started.
type Report struct {
	OS, Arch string // of the target, as Go names them
	Hash     string // the program's SHA-256, in hex
	Path     string // of the program on the target
	// Uploaded says that the program was not there and had to be sent.
	Uploaded bool
	// Sent counts the bytes that were sent for that, every attempt included.
	Sent int64
	// Execs is the number of programs that were started on the target: one in
	// the steady state.
	Execs int
	// Passed are the folders that were passed over, each with its reason.
	Passed []string
}

// Start starts the helper on a target, where it is carried first if it is not
// there. The stream begins with the helper's first byte, and it lives on when ctx
// ends, which bounds the start alone.
//
// Where there is a POSIX shell that takes one exec and, once the program is
// there, one round trip after it. Where the shell can't do it, and e is a
// Carrier, the program is copied and started directly.
//
// A target where the helper can't run is a *ops.TransportError whose cause is a
// *CannotRunError: then other means may serve. A bundle without a program for the
// target has an *AbsentError among the causes of that. Any other
// *ops.TransportError is of the way to the target. The report tells as much as is
// known, beside an error too.
func Start(ctx context.Context, e Exec, b Bundle, o Options) (*Stream, Report, error) {
	if o.Word == "" {
		o.Word = helper.Serve
	}
	var report Report
	if o.Path != "" {
		s, err := startPlaced(ctx, e, b, o, &report)
		return s, report, o.transport(err)
	}
	if len(b.programs) == 0 {
		absent := &AbsentError{}
		return nil, report, o.transport(&CannotRunError{Reason: absent.Error(), Err: absent})
	}
	s, err := startByShell(ctx, e, b, o, &report)
	var cannot *CannotRunError
	if carrier, ok := e.(Carrier); ok && errors.As(err, &cannot) {
		if s, err = startCarried(ctx, carrier, b, o, &report); errors.As(err, new(*CannotRunError)) {
			err = &CannotRunError{Reason: cannot.Error() + "; and " + err.Error(), Err: errors.Join(cannot, err)}
		}
	}
	return s, report, o.transport(err)
}

// startPlaced starts the program where it is. Its name says which one it is.
func startPlaced(ctx context.Context, e Exec, b Bundle, o Options, report *Report) (*Stream, error) {
	report.Path, report.Execs = o.Path, 1
	for _, p := range b.programs {
		if p.Name() == path.Base(o.Path) {
			report.OS, report.Arch, report.Hash = p.OS, p.Arch, p.Hash
		}
	}
	p, err := e.Exec(ctx, []string{o.Path, o.Word, newMarker().String()})
	if err != nil {
		return nil, noShell(err)
	}
	return &Stream{Process: p, reader: bufio.NewReader(p)}, nil
}

// Stream is a running helper: what is written is its standard input, what is read
// its standard output. One goroutine may read while another one writes.
type Stream struct {
	Process
	reader *bufio.Reader
}

// Read reads what the helper says. io.EOF is its end; Wait knows more.
func (s *Stream) Read(p []byte) (int, error) { return s.reader.Read(p) }

// startByShell talks to the start script.
func startByShell(ctx context.Context, e Exec, b Bundle, o Options, report *Report) (*Stream, error) {
	m := newMarker()
	report.Execs++
	p, err := e.Exec(ctx, argv(b, m, o.Word))
	if err != nil {
		return nil, noShell(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	t := &talk{answers: newAnswers(p, m), process: p, bundle: b, report: report}
	err = t.run(ctx)
	if !stop() {
		err = ended(ctx)
	}
	if err != nil {
		_ = p.Close() // the reason counts
		return nil, err
	}
	return &Stream{Process: p, reader: t.reader}, nil
}

// noShell makes a reason for other means of an account that runs no commands.
func noShell(err error) error {
	if ops.KindOf(err) == ops.KindNoShell {
		return &CannotRunError{Reason: plain(err.Error()), Err: err}
	}
	return err
}

// talk is one run of the start script.
type talk struct {
	*answers
	process Process
	bundle  Bundle
	report  *Report
}

// maxSends bounds how often the script may ask for the program; there are fewer
// folders.
const maxSends = 8

// run answers the script until it has become the helper.
func (t *talk) run(ctx context.Context) error {
	failed := make(chan error, maxSends) // writing ends when the script reads, or with the process
	for sends := 0; ; {
		verb, rest, err := t.next()
		if err != nil {
			return t.noAnswer(ctx, err)
		}
		switch {
		case verb == "note":
			if note := plain(rest); !slices.Contains(t.report.Passed, note) {
				t.report.Passed = append(t.report.Passed, note)
			}
		case verb == "no":
			return &CannotRunError{Reason: plain(rest), Tried: t.report.Passed}
		case verb == "need" && sends < maxSends:
			sends++
			data, err := t.wanted(rest)
			if err != nil {
				return err
			}
			t.report.Sent += int64(len(data))
			go func() {
				_, err := t.process.Write(data)
				failed <- err
			}()
		case verb == "ok":
			for range sends {
				if err := <-failed; err != nil {
					return t.noAnswer(ctx, err)
				}
			}
			return t.started(rest)
		default:
			return t.broken("it said " + plain(verb+" "+rest))
		}
	}
}

// wanted is what the script asked for.
func (t *talk) wanted(rest string) ([]byte, error) {
	var goos, arch, form string
	if _, err := fmt.Sscan(rest, &goos, &arch, &form); err != nil {
		return nil, t.broken("it asked for " + plain(rest))
	}
	p, err := t.bundle.Find(goos, arch)
	if err != nil {
		return nil, &CannotRunError{Reason: err.Error(), Err: err}
	}
	if form == "gzip" {
		return p.Packed(), nil
	}
	return p.Bytes()
}

// started notes what the script became.
func (t *talk) started(rest string) error {
	words := strings.SplitN(rest, " ", 4) // the last is a path
	if len(words) < 4 {
		return t.broken("it became " + plain(rest))
	}
	p, err := t.bundle.Find(words[1], words[2])
	if err != nil {
		return t.broken("it became " + plain(rest))
	}
	t.report.OS, t.report.Arch, t.report.Hash = p.OS, p.Arch, p.Hash
	t.report.Path, t.report.Uploaded = words[3], words[0] == "sent"
	return nil
}

func (t *talk) broken(what string) error {
	return &ops.TransportError{Kind: ops.KindProtocol, Msg: "the script that starts the helper broke the protocol: " + what}
}

// noAnswer explains a script that ended before it said how.
func (t *talk) noAnswer(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if errors.Is(cause, errNoise) {
		return &CannotRunError{Reason: fmt.Sprintf("the account's shell says more than %d bytes before it does what it is told, which begin with %q", maxNoise, t.firstLine())}
	}
	exit, err := t.process.Wait(ctx)
	if err != nil {
		return noShell(err)
	}
	return &CannotRunError{Reason: t.ending(exit), Tried: t.report.Passed}
}

// ending is the sentence about a script that ended too early.
func (t *talk) ending(exit Exit) string {
	how := fmt.Sprintf("with exit status %d", exit.Code)
	if exit.Signal != "" {
		how = "by signal " + exit.Signal
	}
	reason := "the shell that starts the helper ended " + how
	if t.begun {
		reason += " before it was done"
	} else if line := t.firstLine(); line != "" {
		reason += fmt.Sprintf(" after %q", line)
	} else {
		reason += " and said nothing"
	}
	if text := plain(exit.Stderr); text != "" {
		reason += fmt.Sprintf(", and as its error %q", text)
	}
	return reason
}
