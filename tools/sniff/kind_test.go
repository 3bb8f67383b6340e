package sniff_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/piremote/piremote/tools/sniff"
)

func zipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create("a"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := gzip.NewWriter(&b).Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, head, kind string
		binary           bool
	}{
		{"empty", "", "empty file", false},
		{"ASCII", "package main\n", "UTF-8 text", false},
		{"one letter", "B", "UTF-8 text", false},
		{"UTF-8", "süß 世界 🎉", "UTF-8 text", false},
		{"UTF-8 with a mark", "\ufeffx", "UTF-8 text", false},
		{"UTF-8, cut after one byte of three", "世界"[:4], "UTF-8 text", false},
		{"UTF-8, cut after three bytes of four", "a🎉"[:4], "UTF-8 text", false},
		{"Latin-1", "caf\xe9 noir", "text in an unknown encoding", false},
		{"Latin-1, two bytes at the end", "caf\xe9\xe9", "text in an unknown encoding", false},
		{"NUL", "abc\x00def", "binary data", true},
		{"UTF-16 LE", "\xff\xfea\x00", "UTF-16 text", true},
		{"UTF-16 BE", "\xfe\xff\x00a", "UTF-16 text", true},
		{"UTF-32 LE", "\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32 text", true},
		{"ELF", "\x7fELF\x02\x01\x01", "ELF executable", true},
		{"PDF", "%PDF-1.7\n%abc", "PDF document", true},
		{"gzip", gzipped(t), "gzip data", true},
		{"zip", zipped(t), "zip archive", true},
		{"SQLite", "SQLite format 3\x00\x10\x00", "SQLite database", true},
		{"SQLite in a text", "SQLite format 3 is old", "UTF-8 text", false},
		{"tar", "name" + strings.Repeat("\x00", 253) + "ustar\x0000", "tar archive", true},
		{"bzip2", "BZh91AY&SY\x01\x02", "bzip2 data", true},
		{"BZh in a text", "BZh is a prefix", "UTF-8 text", false},
		{"DOS", "MZ\x90\x00\x03" + strings.Repeat("\x00", 60), "Windows executable", true},
		{"MZ in a text", "MZ " + strings.Repeat("word ", 20), "UTF-8 text", false},
		{"wasm", "\x00asm\x01\x00\x00\x00", "WebAssembly module", true},
		{"mp4", "\x00\x00\x00\x18ftypmp42", "MP4 or HEIF media", true},
		{"wave", "RIFF\x24\x00\x00\x00WAVEfmt ", "WAVE audio", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := sniff.Kind{Name: c.kind, Binary: c.binary}
			if got := sniff.Detect([]byte(c.head)); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestDetectOwnProgram(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 4096)
	n, err := f.Read(head)
	if err != nil {
		t.Fatal(err)
	}
	if kind := sniff.Detect(head[:n]); !kind.Binary || !strings.HasSuffix(kind.Name, "executable") {
		t.Errorf("got %+v", kind)
	}
}

func TestBinary(t *testing.T) {
	for head, want := range map[string]bool{
		"": false, "text": false, "caf\xe9": false, "a\x00": true, "\x00": true, "\xff\xfea": true, "\xfe\xff": true, "\xff": false,
	} {
		if got := sniff.Binary([]byte(head)); got != want {
			t.Errorf("Binary(%q) = %v", head, got)
		}
	}
}

func TestImageByContent(t *testing.T) {
	for name, c := range map[string]struct{ head, want string }{
		"png":               {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
		"jpeg":              {"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"},
		"gif":               {"GIF89a\x01\x00", "image/gif"},
		"old gif":           {"GIF87a\x01\x00", "image/gif"},
		"webp":              {"RIFF\x24\x00\x00\x00WEBPVP8L", "image/webp"},
		"bmp":               {"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00", "image/bmp"},
		"text with BM":      {"BM stands for many things, e.g. benchmark", ""},
		"text with GIF":     {"GIF87 is old", ""},
		"wave":              {"RIFF\x24\x00\x00\x00WAVEfmt ", ""},
		"damaged png (LF)":  {"\x89PNG\n\x1a\n", ""},
		"short":             {"\x89P", ""},
		"empty":             {"", ""},
		"svg is no picture": {"<svg xmlns=", ""},
	} {
		if got := sniff.Image([]byte(c.head)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("BM\x00"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8 "))
	f.Add([]byte("\xff\xfe\x00"))
	f.Fuzz(func(t *testing.T, head []byte) {
		kind := sniff.Detect(head)
		if kind.Name == "" {
			t.Error("no name")
		}
		if sniff.Binary(head) && !kind.Binary {
			t.Errorf("Binary and Detect differ: %+v", kind)
		}
		if (sniff.Image(head) != "") && !kind.Binary {
			t.Errorf("an image that is text: %+v", kind)
		}
	})
}

// Text is text wherever its head is cut, and is none with a NUL byte in it.
func FuzzTextIsText(f *testing.F) {
	f.Add("plain\n", uint16(3))
	f.Add("caf\u00e9 \u65e5\u672c \U0001F600", uint16(9))
	f.Add("\ufeffkey: 1\r\n\x1b[31m\x01", uint16(2))
	f.Add("BM GIF8 RIFF MZ", uint16(0))
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		text = "x" + strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "") // no magic begins with x
		if len(text) >= 262 && text[257:262] == "ustar" {
			t.Skip()
		}
		cut := 1 + int(at)%len(text)
		for _, head := range []string{text, text[:cut]} {
			if kind := sniff.Detect([]byte(head)); kind != (sniff.Kind{Name: "UTF-8 text"}) {
				t.Errorf("%q: %+v", head, kind)
			}
			if sniff.Binary([]byte(head)) || sniff.Image([]byte(head)) != "" {
				t.Errorf("%q is taken for no text", head)
			}
		}
		if head := []byte(text[:cut] + "\x00" + text[cut:]); !sniff.Binary(head) || !sniff.Detect(head).Binary {
			t.Errorf("%q is taken for text", head)
		}
	})
}
