package install

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// embedded holds what make build puts there; in a fresh clone that is nothing
// but a README.
//
//go:embed embedded
var embedded embed.FS

// Arches are the architectures that helpers are built for, as Go names them; the
// system is Linux.
func Arches() []string { return []string{"amd64", "arm64"} }

// FileName is the name of a packed helper in the embedded folder.
func FileName(goarch string) string { return "piremote-helper-linux-" + goarch + ".gz" }

// Embedded returns the helpers that were built into this program: none of them if
// it was not made by make build.
func Embedded() (Bundle, error) { return load(embedded) }

func load(files fs.FS) (Bundle, error) {
	var b Bundle
	for _, arch := range Arches() {
		packed, err := fs.ReadFile(files, "embedded/"+FileName(arch))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Bundle{}, fmt.Errorf("the embedded helpers: %w", err)
		}
		p, err := NewProgram("linux", arch, packed)
		if err != nil {
			return Bundle{}, err
		}
		b.programs = append(b.programs, p)
	}
	return b, nil
}
