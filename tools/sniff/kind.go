package sniff

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Kind says what a file holds.
type Kind struct {
	Name   string // for people, such as "ELF executable" or "UTF-8 text"
	Binary bool   // showing it as text makes no sense
}

// Image returns the MIME type of a PNG, JPEG, GIF, WebP or BMP image by its
// magic, or "". Twenty-six bytes are enough.
func Image(head []byte) string {
	s := string(head[:min(len(head), 32)])
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) >= 15 && s[:4] == "RIFF" && s[8:15] == "WEBPVP8":
		return "image/webp"
	case bitmap(s):
		return "image/bmp"
	}
	return ""
}

// bitmap checks more than the magic of two letters, which text may begin with: the
// reserved fields are zero and the info header has one of its known sizes.
func bitmap(s string) bool {
	if len(s) < 18 || s[:2] != "BM" || s[6:10] != "\x00\x00\x00\x00" || s[15:18] != "\x00\x00\x00" {
		return false
	}
	switch s[14] {
	case 12, 16, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}

type magic struct{ prefix, name string }

// magics returns the formats that are never text, by their leading bytes.
func magics() []magic {
	return []magic{
		{"\x7fELF", "ELF executable"},
		{"%PDF-", "PDF document"},
		{"\x1f\x8b", "gzip data"},
		{"PK\x03\x04", "zip archive"},
		{"PK\x05\x06", "zip archive"},
		{"PK\x07\x08", "zip archive"},
		{"SQLite format 3\x00", "SQLite database"},
		{"\xfd7zXZ\x00", "XZ data"},
		{"\x28\xb5\x2f\xfd", "Zstandard data"},
		{"7z\xbc\xaf\x27\x1c", "7-Zip archive"},
		{"Rar!\x1a\x07", "RAR archive"},
		{"!<arch>\n", "ar archive"},
		{"\x00asm", "WebAssembly module"},
		{"\xcf\xfa\xed\xfe", "Mach-O executable"},
		{"\xce\xfa\xed\xfe", "Mach-O executable"},
		{"\xca\xfe\xba\xbe", "Java class or Mach-O executable"},
		{"OggS\x00", "Ogg data"},
		{"fLaC\x00", "FLAC audio"},
		{"\x89HDF\r\n\x1a\n", "HDF5 data"},
		{"wOFF\x00", "WOFF font"},
		{"wOF2\x00", "WOFF2 font"},
	}
}

// Detect says what the file that starts with head holds. A head that ends
// within a character is still UTF-8 text. Eight KiB are plenty; fewer will do.
func Detect(head []byte) Kind {
	if len(head) == 0 {
		return Kind{Name: "empty file"}
	}
	if mime := Image(head); mime != "" {
		return Kind{Name: imageName(mime), Binary: true}
	}
	for _, m := range magics() {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return Kind{Name: m.name, Binary: true}
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) >= 10 && string(head[4:10]) == "1AY&SY":
		return Kind{Name: "bzip2 data", Binary: true}
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return Kind{Name: "tar archive", Binary: true}
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WAVE":
		return Kind{Name: "WAVE audio", Binary: true}
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && head[0] == 0:
		return Kind{Name: "MP4 or HEIF media", Binary: true}
	case windowsExecutable(head):
		return Kind{Name: "Windows executable", Binary: true}
	case utf32(head):
		return Kind{Name: "UTF-32 text", Binary: true}
	case utf16(head):
		return Kind{Name: "UTF-16 text", Binary: true}
	case bytes.IndexByte(head, 0) >= 0:
		return Kind{Name: "binary data", Binary: true}
	case validUTF8(head):
		return Kind{Name: "UTF-8 text"}
	}
	return Kind{Name: "text in an unknown encoding"}
}

// Binary reports whether head holds a NUL byte or starts with the byte order
// mark of UTF-16 or UTF-32. It is what tells text from binary in a search.
func Binary(head []byte) bool {
	return utf16(head) || bytes.IndexByte(head, 0) >= 0
}

// imageName is the name of a MIME type that Image returns.
func imageName(mime string) string {
	switch mime {
	case "image/png":
		return "PNG image"
	case "image/jpeg":
		return "JPEG image"
	case "image/gif":
		return "GIF image"
	case "image/webp":
		return "WebP image"
	case "image/bmp":
		return "BMP image"
	}
	return "image"
}

func windowsExecutable(head []byte) bool {
	return len(head) >= 64 && string(head[:2]) == "MZ" && bytes.IndexByte(head[:64], 0) >= 0
}

func utf16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

func utf32(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")) || bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff"))
}

// validUTF8 forgives a character that is cut off at the end.
func validUTF8(head []byte) bool {
	for cut := 1; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if tail := head[len(head)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				head = head[:len(head)-cut]
			}
			break
		}
	}
	return utf8.Valid(head)
}
