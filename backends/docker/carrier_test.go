//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/install"
)

// A compressed archive makes some daemons run a program of the container: what is sent
// is a plain tar with the helper and its folder.
func TestDKF03ArchivesAreNotCompressed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var sent []byte
	f.put = func(body []byte) { sent = body }
	program := bytes.Repeat([]byte("\x7fELF"), 10_000)
	if err := (starter{f.runner(t, Options{})}).Put(t.Context(), "/.piremote", "helper", program); err != nil {
		t.Fatal(err)
	}
	if len(sent) < 512 || string(sent[257:262]) != "ustar" {
		t.Fatalf("%d bytes that begin with %q", len(sent), sent[:min(len(sent), 8)])
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(sent)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || h.Uid != 0 || h.Gid != 0 {
			t.Fatalf("%+v, %v", h, err)
		}
		names = append(names, h.Name)
		if data, err := io.ReadAll(r); err != nil || h.Typeflag == tar.TypeReg && !bytes.Equal(data, program) {
			t.Errorf("%s: %d bytes, %v", h.Name, len(data), err)
		}
	}
	if got := strings.Join(names, " "); got != ".piremote/ .piremote/helper" {
		t.Errorf("sent %s", got)
	}
}

// Of what a container says only the one file that was asked for is read, to its bound.
func TestDKF04NothingIsUnpacked(t *testing.T) {
	t.Parallel()
	regular := func(name, text string) *bytes.Buffer {
		return tarOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(text))}, text)
	}
	link := func(kind byte) *bytes.Buffer {
		return tarOf(t, &tar.Header{Typeflag: kind, Name: "helper", Linkname: "/etc/passwd"}, "")
	}
	whole := regular("helper", "program")
	for name, c := range map[string]struct {
		archive []byte
		want    string // empty: it is not there
		broken  bool
	}{
		"the file":          {whole.Bytes(), "program", false},
		"another name":      {regular("passwd", "program").Bytes(), "", false},
		"a path out":        {regular("../../etc/x", "program").Bytes(), "", false},
		"a link":            {link(tar.TypeSymlink).Bytes(), "", false},
		"a hard link":       {link(tar.TypeLink).Bytes(), "", false},
		"a device":          {link(tar.TypeChar).Bytes(), "", false},
		"a folder":          {link(tar.TypeDir).Bytes(), "", false},
		"too long":          {regular("helper", strings.Repeat("x", 2000)).Bytes(), "", false},
		"cut":               {whole.Bytes()[:515], "", true},
		"no archive":        {bytes.Repeat([]byte("garbage "), 100), "", true},
		"empty":             {[]byte{}, "", false},
		"more files behind": {append(whole.Bytes()[:1024:1024], regular("../x", "y").Bytes()...), "program", false},
	} {
		f := newFake(t)
		f.get = c.archive
		got, err := starter{f.runner(t, Options{})}.Get(t.Context(), "/.piremote/helper", 1000)
		switch {
		case c.want != "" && (string(got) != c.want || err != nil),
			c.want == "" && !c.broken && !errors.Is(err, fs.ErrNotExist),
			c.broken && (err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*install.CannotRunError))):
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func tarOf(t *testing.T, h *tar.Header, text string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}
