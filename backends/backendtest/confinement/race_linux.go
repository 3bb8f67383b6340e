package confinement

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

// Race is a folder of this machine in which names are swapped as fast as one thread
// can: a folder and a link to one outside, a file and a link to one outside, a file
// and a link to what does not exist outside. Operations on them end inside, or fail.
type Race struct {
	Root string // what a workspace opens

	outside  string
	swapping sync.Mutex
	seen     map[string]int // by operation and outcome
}

// NewRace makes the folder in an existing, empty one, whose path must be without links.
func NewRace(base string) (*Race, error) {
	r := &Race{Root: filepath.Join(base, "ws"), outside: filepath.Join(base, "ws-out"), seen: map[string]int{}}
	for _, dir := range []string{"sub", ""} {
		if err := os.MkdirAll(filepath.Join(r.Root, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(r.outside, 0o755); err != nil {
		return nil, err
	}
	return r, errors.Join(
		os.WriteFile(filepath.Join(r.Root, "sub", "f"), []byte(inside), 0o644),
		os.WriteFile(filepath.Join(r.Root, "file"), []byte(inside), 0o644),
		os.WriteFile(filepath.Join(r.Root, "new"), []byte(inside), 0o644),
		os.Symlink(r.outside, filepath.Join(r.Root, "sub-link")),
		os.Symlink(filepath.Join(r.outside, "f"), filepath.Join(r.Root, "file-link")),
		os.Symlink(filepath.Join(r.outside, "new"), filepath.Join(r.Root, "new-link")),
		r.furnish(),
	)
}

// Secrets of the folder outside: a content, a name and a size, which no file inside
// comes to have.
const (
	secretText = secret + " outside"
	secretName = "secret-name"
	secretSize = 4242
	// secretMode is one that no file inside has: a mode that is restored there must not
	// land outside (hazard CONF-05).
	secretMode = 0o640
)

func secretFile() []byte {
	return append([]byte(secretText), bytes.Repeat([]byte(" "), secretSize-len(secretText))...)
}

func (r *Race) furnish() error {
	return errors.Join(
		os.WriteFile(filepath.Join(r.outside, "f"), secretFile(), secretMode),
		os.WriteFile(filepath.Join(r.outside, secretName), nil, secretMode),
	)
}

// Report is how a race went.
type Report struct {
	Operations int
	// Reads and Writes are operations that went outside, with what they brought; Looks
	// are reads that brought no more than that something is there and its size.
	Reads, Writes, Looks []string
	// Done and Refused count those that succeeded and those that were ops.ErrOutside.
	Done, Refused int
	Seen          string // how often each kind ended how
}

// Run races the operations of a workspace on the root against the swaps: at least n of
// them, and for at least that long.
func (r *Race) Run(ctx context.Context, set ops.Set, n int, long time.Duration) (Report, error) {
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.swap(stop) }()
	var report Report
	var err error
	end := time.Now().Add(long)
	for round := 0; err == nil && (report.Operations < n || time.Now().Before(end)); round++ {
		if err = r.relink(); err != nil {
			break
		}
		for _, op := range r.operations(set, round) {
			report.Operations++
			brought, operr := op.run(ctx)
			r.count(op.name, operr)
			switch {
			case !leaks(brought):
			case op.name == "stat", op.name == "access":
				report.Looks = append(report.Looks, op.name)
			default:
				report.Reads = append(report.Reads, op.name+" brought "+brought)
			}
			if ops.KindOf(operr) != "" || ctx.Err() != nil {
				err = fmt.Errorf("%s: %w", op.name, operr)
			}
			changed, cerr := r.changed()
			if changed != "" {
				report.Writes = append(report.Writes, op.name+" made "+changed)
			}
			if err = errors.Join(err, cerr); err != nil {
				break
			}
		}
	}
	close(stop)
	report.Seen = r.String()
	for key, n := range r.seen {
		switch {
		case strings.HasSuffix(key, " done"):
			report.Done += n
		case strings.HasSuffix(key, " refused"):
			report.Refused += n
		}
	}
	return report, errors.Join(err, <-done)
}

// relink makes the link anew whose place a written file took: a rename does not care
// what it replaces.
func (r *Race) relink() error {
	r.swapping.Lock()
	defer r.swapping.Unlock()
	a, b := filepath.Join(r.Root, "new"), filepath.Join(r.Root, "new-link")
	for _, p := range []string{a, b} {
		if info, err := os.Lstat(p); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
	}
	return errors.Join(os.Remove(b), os.Symlink(filepath.Join(r.outside, "new"), b))
}

// swap exchanges names until it is told to stop.
func (r *Race) swap(stop <-chan struct{}) error {
	for {
		for _, name := range []string{"sub", "file", "new"} {
			select {
			case <-stop:
				return nil
			default:
			}
			a, b := filepath.Join(r.Root, name), filepath.Join(r.Root, name+"-link")
			r.swapping.Lock()
			err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			r.swapping.Unlock()
			if err != nil && !errors.Is(err, unix.ENOENT) { // SFTP may move a file aside for a moment
				return fmt.Errorf("names can't be exchanged here: %w", err)
			}
		}
	}
}

// operation is one call; it returns what it brought back.
type operation struct {
	name string
	run  func(ctx context.Context) (string, error)
}

// operations are one of each that the workspace has.
func (r *Race) operations(set ops.Set, round int) []operation {
	sub, file, fresh := filepath.Join(r.Root, "sub"), filepath.Join(r.Root, "file"), filepath.Join(r.Root, "new")
	list := []operation{
		{"read in a folder", func(ctx context.Context) (string, error) { return text(set.Read.ReadFile(ctx, sub+"/f", 0)) }},
		{"read", func(ctx context.Context) (string, error) { return text(set.Read.ReadFile(ctx, file, 0)) }},
		{"access", func(ctx context.Context) (string, error) {
			err := set.Read.Access(ctx, sub+"/"+secretName)
			return ifNil(err, secretName), err
		}},
		{"stat", func(ctx context.Context) (string, error) { return size(set.Ls.Stat(ctx, sub+"/f")) }},
		{"list", func(ctx context.Context) (string, error) {
			var names []string
			err := set.Ls.ReadDir(ctx, sub, func(e fs.DirEntry) bool { names = append(names, e.Name()); return true })
			return strings.Join(names, " "), err
		}},
		{"write in a folder", func(ctx context.Context) (string, error) {
			return "", wrote(set.Write.WriteFile(ctx, fmt.Sprintf("%s/w%d", sub, round%50), []byte(inside)))
		}},
		{"write over", func(ctx context.Context) (string, error) {
			return "", wrote(set.Write.WriteFile(ctx, sub+"/f", []byte(inside)))
		}},
		{"write", func(ctx context.Context) (string, error) {
			return "", wrote(set.Write.WriteFile(ctx, fresh, []byte(inside)))
		}},
		{"mkdir", func(ctx context.Context) (string, error) {
			return "", set.Write.MkdirAll(ctx, fmt.Sprintf("%s/d%d/e", sub, round%50))
		}},
	}
	if e, ok := set.Edit.(ops.Editor); ok {
		list = append(list, operation{"edit", func(ctx context.Context) (string, error) {
			_, err := e.EditFile(ctx, sub+"/f", ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: inside, New: inside + "!"}}})
			return told(err), err
		}})
	}
	if w, ok := set.Read.(ops.WindowReader); ok {
		list = append(list, operation{"window", func(ctx context.Context) (string, error) {
			got, err := w.ReadWindow(ctx, file, ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 1000})
			return string(got.Data) + string(got.Head), err
		}})
	}
	if s, ok := set.Grep.(ops.Searcher); ok {
		list = append(list, operation{"search", func(ctx context.Context) (string, error) {
			var lines []string
			_, err := s.Search(ctx, ops.SearchRequest{Root: r.Root, Path: sub, Pattern: secret + "|" + inside, MaxLine: 100}, func(l ops.SearchLine) bool {
				lines = append(lines, l.Text)
				return true
			})
			return strings.Join(lines, "\n"), err
		}})
	}
	if g, ok := set.Find.(ops.Globber); ok {
		list = append(list, operation{"glob", func(ctx context.Context) (string, error) {
			var found []string
			_, err := g.Glob(ctx, ops.GlobRequest{Root: r.Root, Path: sub, Pattern: "*"}, func(p string) bool { found = append(found, p); return true })
			return strings.Join(found, " "), err
		}})
	}
	if set.Bash != nil && round%5 == 0 {
		list = append(list, operation{"command", func(ctx context.Context) (string, error) {
			var out bytes.Buffer
			_, err := set.Bash.Exec(ctx, ops.Command{Script: "cat f; echo *", Dir: sub}, func(c ops.Chunk) { out.Write(c.Data) })
			return out.String(), err
		}})
	}
	return list
}

func text(data []byte, err error) (string, error) { return string(data), err }

func ifNil(err error, text string) string {
	if err == nil {
		return text
	}
	return ""
}

func size(info fs.FileInfo, err error) (string, error) {
	if err != nil || info.Size() != secretSize {
		return "", err
	}
	return secretText, nil
}

func wrote(_ ops.WriteReport, err error) error { return err }

// told is what a failed edit tells of the file.
func told(err error) string {
	if m := (*ops.MismatchError)(nil); errors.As(err, &m) {
		return secretText // the text that is looked for is in every file but that one
	}
	return ""
}

func leaks(brought string) bool {
	return strings.Contains(brought, secretText) || strings.Contains(brought, secretName)
}

// changed says what is new outside, and takes it away.
func (r *Race) changed() (string, error) {
	entries, err := os.ReadDir(r.outside)
	if err != nil {
		return "", err
	}
	var list []string
	for _, e := range entries {
		p := filepath.Join(r.outside, e.Name())
		data, err := os.ReadFile(p)
		info, ierr := e.Info()
		switch {
		case ierr != nil:
			return "", ierr
		case err == nil && info.Mode() != secretMode:
			list = append(list, fmt.Sprintf("%s of mode %v", e.Name(), info.Mode()))
		case e.Name() == secretName && err == nil && len(data) == 0, e.Name() == "f" && err == nil && bytes.Equal(data, secretFile()):
			continue
		default:
			list = append(list, fmt.Sprintf("%s of %.20q", e.Name(), data))
		}
		if err := os.RemoveAll(p); err != nil {
			return "", err
		}
	}
	if len(list) > 0 || len(entries) != 2 {
		err = r.furnish()
	}
	return strings.Join(list, ", "), err
}

func (r *Race) count(op string, err error) {
	switch {
	case err == nil:
		r.seen[op+" done"]++
	case errors.Is(err, ops.ErrOutside):
		r.seen[op+" refused"]++
	default:
		r.seen[op+" failed"]++
	}
}

// String tells how often each operation ended how.
func (r *Race) String() string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(r.seen)) {
		list = append(list, fmt.Sprintf("%s %d", key, r.seen[key]))
	}
	return strings.Join(list, ", ")
}
