package install

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Program is the helper for one kind of machine, as it is carried. It is
// immutable.
type Program struct {
	OS, Arch string // as Go names them
	Hash     string // the program's SHA-256, in hex
	Size     int64  // of the program, in bytes
	packed   []byte // by gzip
}

// Pack compresses a program. Equal programs give equal bytes: the header holds
// no name and no time, and as its comment the program's SHA-256.
func Pack(program []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w.Comment = hash(program)
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// NewProgram describes a program that Pack compressed, whose bytes it keeps.
func NewProgram(goos, goarch string, packed []byte) (Program, error) {
	const trailer = 8 // checksum and size
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Program{}, fmt.Errorf("the helper for %s/%s is damaged: %w", goos, goarch, err)
	}
	if sum, err := hex.DecodeString(r.Comment); err != nil || len(sum) != sha256.Size || len(packed) < trailer {
		return Program{}, fmt.Errorf("the helper for %s/%s has no hash in its header: build it with make build", goos, goarch)
	}
	size := binary.LittleEndian.Uint32(packed[len(packed)-4:])
	return Program{OS: goos, Arch: goarch, Hash: r.Comment, Size: int64(size), packed: packed}, nil
}

// Packed returns the compressed program, which the caller must not change.
func (p Program) Packed() []byte { return p.packed }

// Bytes unpacks the program and compares its hash.
func (p Program) Bytes() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(p.packed))
	if err != nil {
		return nil, p.damaged(err)
	}
	data, err := io.ReadAll(io.LimitReader(r, p.Size+1))
	switch {
	case err != nil:
		return nil, p.damaged(err)
	case hash(data) != p.Hash:
		return nil, p.damaged(errors.New("its hash differs"))
	}
	return data, nil
}

func (p Program) damaged(err error) error {
	return fmt.Errorf("the helper for %s/%s in this piremote is damaged: %w", p.OS, p.Arch, err)
}

// Name is that of the program's file, wherever it is put.
func (p Program) Name() string { return "helper-" + p.Hash }

// Extracted is a program in a folder of this machine that stays there until it is
// closed, or this process ends.
type Extracted struct {
	Path string
	held io.Closer
}

// Close lets the program be removed when nobody else uses it. It may be called more
// than once.
func (e *Extracted) Close() error {
	if err := e.held.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Bundle holds the helper for some kinds of machines. The zero value is empty.
type Bundle struct{ programs []Program }

// NewBundle makes a bundle of programs for different kinds of machines.
func NewBundle(programs ...Program) Bundle { return Bundle{programs} }

// Programs returns what the bundle holds; the caller must not change it.
func (b Bundle) Programs() []Program { return b.programs }

// Find returns the program for a kind of machine, as Go names it, or an
// *AbsentError.
func (b Bundle) Find(goos, goarch string) (Program, error) {
	if len(b.programs) == 0 {
		return Program{}, &AbsentError{}
	}
	for _, p := range b.programs {
		if p.OS == goos && p.Arch == goarch {
			return p, nil
		}
	}
	return Program{}, &AbsentError{OS: goos, Arch: goarch}
}
