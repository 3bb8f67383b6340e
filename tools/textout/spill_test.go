package textout

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// memoryFile is a SpillFile in memory. It fails from the call number fail on.
type memoryFile struct {
	data   []byte
	calls  int
	fail   int
	closed int
}

var errDisk = errors.New("disk fault")

func (f *memoryFile) fault() bool {
	f.calls++
	return f.fail > 0 && f.calls >= f.fail
}

func (f *memoryFile) Write(p []byte) (int, error) { return f.WriteAt(p, int64(len(f.data))) }

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	if f.fault() {
		return 0, errDisk
	}
	if need := int(at) + len(p); need > len(f.data) {
		f.data = append(f.data, make([]byte, need-len(f.data))...)
	}
	return copy(f.data[at:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	if f.fault() {
		return 0, errDisk
	}
	n := copy(p, f.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Close() error {
	f.closed++
	return nil
}

// checkSpill compares what a spill holds with all that was written.
func checkSpill(t *testing.T, got, all string, limit int64, res SpillResult) {
	t.Helper()
	if res.Total != int64(len(all)) || res.Size != int64(len(got)) || res.Cut != (int64(len(all)) > limit) {
		t.Fatalf("%d bytes, limit %d: %+v, file of %d", len(all), limit, res, len(got))
	}
	if !res.Cut {
		if got != all {
			t.Fatalf("spill differs")
		}
		return
	}
	head := limit / 2
	const end = " bytes left out ...]\n"
	i := strings.LastIndex(got, end) + len(end)
	if got[:head] != all[:head] || !strings.HasSuffix(all, got[i:]) || int64(len(got)) != limit {
		t.Fatalf("limit %d: %q is not head and tail of %q", limit, got, all)
	}
	var missing int
	if _, err := fmt.Sscanf(got[head:], "\n[... %d bytes left out", &missing); err != nil || missing != len(all)-int(head)-(len(got)-i) {
		t.Fatalf("%d bytes are said to be missing of %d: %v", missing, len(all), err)
	}
}

func TestTRUN02SpillKeepsEverythingOrHeadAndTail(t *testing.T) {
	r := seeded(t)
	for range 5000 {
		limit := int64(minSpill + r.IntN(400))
		file := &memoryFile{}
		s := NewSpill(limit, 50, 5, func() (SpillFile, error) { return file, nil })
		var all []byte
		for range r.IntN(30) {
			p := make([]byte, r.IntN(80))
			for i := range p {
				p[i] = byte('a' + r.IntN(26))
			}
			all = append(all, p...)
			_, _ = s.Write(p)
		}
		res, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.Written != (len(all) > 50) || file.closed != map[bool]int{true: 1}[res.Written] {
			t.Fatalf("%d bytes: %+v, closed %d times", len(all), res, file.closed)
		}
		if res.Written {
			checkSpill(t, string(file.data), string(all), limit, res)
		}
	}
}

func TestTRUN02SpillStartsWithTheLines(t *testing.T) {
	file := &memoryFile{}
	s := NewSpill(1<<20, 1<<10, 3, func() (SpillFile, error) { return file, nil })
	_, _ = s.Write([]byte("1\n2\n3\n"))
	if file.calls != 0 {
		t.Fatal("three lines are in the file")
	}
	_, _ = s.Write([]byte("4\n"))
	if res, err := s.Close(); err != nil || !res.Written || string(file.data) != "1\n2\n3\n4\n" {
		t.Errorf("%+v, %v, %q", res, err, file.data)
	}
}

// A file of the system, with a region of more than one block.
func TestTRUN01SpillOnDiskIsBounded(t *testing.T) {
	const limit = 3 << 20
	name := filepath.Join(t.TempDir(), "spill")
	s := NewSpill(limit, 100, 5, func() (SpillFile, error) { return os.Create(name) })
	var all strings.Builder
	for i := range 700_000 {
		fmt.Fprintf(&all, "%d\n", i)
	}
	for rest := all.String(); rest != ""; {
		n := min(len(rest), 32<<10)
		_, _ = s.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	res, err := s.Close()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	checkSpill(t, string(got), all.String(), limit, res)
}

// Every call to the file fails once; the command sees nothing, Close says it.
func TestSpillReportsFaults(t *testing.T) {
	for fail := 1; ; fail++ {
		file := &memoryFile{fail: fail}
		s := NewSpill(200, 50, 5, func() (SpillFile, error) { return file, nil })
		for range 10 {
			if n, err := s.Write(make([]byte, 61)); n != 61 || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		res, err := s.Close()
		if again, err2 := s.Close(); again != res || !errors.Is(err2, err) {
			t.Errorf("a second Close returns %+v, %v", again, err2)
		}
		if n, err := s.Write([]byte("late")); n != 4 || err != nil {
			t.Errorf("Write after Close = %d, %v", n, err)
		}
		if file.calls < fail {
			if fail < 10 || err != nil {
				t.Errorf("%d calls, %v", file.calls, err)
			}
			return
		}
		if !errors.Is(err, errDisk) || res.Total != 610 || file.closed != 1 {
			t.Errorf("fault at call %d: %+v, %v, closed %d times", fail, res, err, file.closed)
		}
	}
}

func TestSpillWithoutFile(t *testing.T) {
	s := NewSpill(200, 50, 5, func() (SpillFile, error) {
		var none *os.File
		return none, errDisk
	})
	for range 3 {
		_, _ = s.Write(make([]byte, 61))
	}
	if res, err := s.Close(); !errors.Is(err, errDisk) || res.Written || res.Total != 183 {
		t.Errorf("%+v, %v", res, err)
	}
}
