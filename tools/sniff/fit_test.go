package sniff_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/piremote/piremote/tools/sniff"
)

// A lossy and a lossless WebP of one pixel.
const (
	webpLossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	webpLossless = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

// gradient has its left top corner red and its right bottom corner blue.
func gradient(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			blue := uint8(255 * (x + y) / max(w+h-2, 1))
			img.SetNRGBA(x, y, color.NRGBA{R: 255 - blue, B: blue, A: 255})
		}
	}
	return img
}

// noise doesn't compress.
func noise(w, h int, alpha bool) *image.NRGBA {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 && !alpha {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(t *testing.T, img image.Image, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 95})
	case "gif":
		err = gif.Encode(&b, img, nil)
	case "bmp":
		err = bmp.Encode(&b, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFitImage(t *testing.T) {
	for _, c := range []struct {
		name          string
		img           image.Image
		format        string
		opts          sniff.FitOptions
		mime          string
		width, height int
		changed       bool
	}{
		{"small png", gradient(20, 10), "png", sniff.FitOptions{}, "image/png", 20, 10, false},
		{"small jpeg", gradient(20, 10), "jpeg", sniff.FitOptions{}, "image/jpeg", 20, 10, false},
		{"small gif", gradient(20, 10), "gif", sniff.FitOptions{}, "image/gif", 20, 10, false},
		{"small bmp", gradient(20, 10), "bmp", sniff.FitOptions{}, "image/png", 20, 10, true},
		{"at the limit", gradient(2000, 3), "png", sniff.FitOptions{}, "image/png", 2000, 3, false},
		{"over the limit", gradient(2001, 3), "png", sniff.FitOptions{}, "image/png", 2000, 3, true},
		{"wide png", gradient(400, 100), "png", sniff.FitOptions{MaxSide: 100}, "image/png", 100, 25, true},
		{"high jpeg", gradient(100, 400), "jpeg", sniff.FitOptions{MaxSide: 100}, "image/jpeg", 25, 100, true},
		{"large gif", gradient(300, 300), "gif", sniff.FitOptions{MaxSide: 100}, "image/png", 100, 100, true},
		{"large bmp", gradient(300, 300), "bmp", sniff.FitOptions{MaxSide: 100}, "image/png", 100, 100, true},
		{"a line", gradient(5000, 1), "png", sniff.FitOptions{}, "image/png", 2000, 1, true},
		{"bytes: png to jpeg", noise(300, 300, false), "png", sniff.FitOptions{MaxBytes: 100_000}, "image/jpeg", 300, 300, true},
		{"bytes: jpeg of less quality", noise(300, 300, false), "jpeg", sniff.FitOptions{MaxBytes: 60_000}, "image/jpeg", 300, 300, true},
		{"bytes: with transparency", noise(300, 300, true), "png", sniff.FitOptions{MaxBytes: 100_000}, "image/jpeg", 300, 300, true},
		{"bytes: smaller", noise(300, 300, false), "png", sniff.FitOptions{MaxBytes: 20_000}, "image/jpeg", 225, 225, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := encoded(t, c.img, c.format)
			out, mime, note, err := sniff.FitImage(data, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			size := c.img.Bounds().Size()
			want := sniff.FitNote{OriginalWidth: size.X, OriginalHeight: size.Y, Width: c.width, Height: c.height, Changed: c.changed}
			if note != want || mime != c.mime {
				t.Errorf("got %s %+v, want %s %+v", mime, note, c.mime, want)
			}
			if !c.changed && !bytes.Equal(out, data) {
				t.Error("an unchanged image has other bytes")
			}
			if sniff.Image(out) != mime {
				t.Errorf("the result is %q", sniff.Image(out))
			}
			if c.opts.MaxBytes > 0 && len(out) > c.opts.MaxBytes {
				t.Errorf("%d bytes", len(out))
			}
			img, _, err := image.Decode(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			if got := img.Bounds().Size(); got != image.Pt(c.width, c.height) {
				t.Errorf("the result has %v", got)
			}
			if strings.HasPrefix(c.name, "bytes") {
				return
			}
			if r, _, b, _ := img.At(img.Bounds().Min.X, img.Bounds().Min.Y).RGBA(); r < 0xc000 || b > 0x4000 {
				t.Errorf("left top has red %x and blue %x", r, b)
			}
			if r, _, b, _ := img.At(img.Bounds().Max.X-1, img.Bounds().Max.Y-1).RGBA(); r > 0x4000 || b < 0xc000 {
				t.Errorf("right bottom has red %x and blue %x", r, b)
			}
		})
	}
}

func TestFitImageWebP(t *testing.T) {
	for name, text := range map[string]string{"lossy": webpLossy, "lossless": webpLossless} {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		out, mime, note, err := sniff.FitImage(data, sniff.FitOptions{})
		if err != nil || mime != "image/webp" || note.Changed || !bytes.Equal(out, data) {
			t.Errorf("%s: %q %+v %v", name, mime, note, err)
		}
	}
}

func TestFitImageKeepsTransparency(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 200, 200))
	out, _, _, err := sniff.FitImage(encoded(t, img, "png"), sniff.FitOptions{MaxSide: 50})
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, a := small.At(25, 25).RGBA(); a != 0 {
		t.Errorf("alpha %x", a)
	}
}

// pngHeader is a PNG that claims a size and has no pixels.
func pngHeader(w, h uint32, depth, kind byte) []byte {
	ihdr := binary.BigEndian.AppendUint32([]byte("IHDR"), w)
	ihdr = binary.BigEndian.AppendUint32(ihdr, h)
	ihdr = append(ihdr, depth, kind, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, ihdr...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(ihdr))
}

func TestFitImageRefuses(t *testing.T) {
	whole := encoded(t, gradient(50, 50), "png")
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"text", []byte("hello"), "is not a PNG"},
		{"nothing", nil, "is not a PNG"},
		{"a bomb", pngHeader(50_000, 50_000, 8, 0), "50000 x 50000 pixels, which is too large to decode"},
		{"a bomb by its depth", pngHeader(9_000, 9_000, 16, 6), "too large to decode"},
		{"a line of a bomb", pngHeader(2_000_000_000, 1, 1, 0), "too large"},
		{"cut off", whole[:len(whole)/2], "the PNG image is damaged"},
		{"head only", whole[:12], "the PNG image is damaged"},
		{"jpeg head only", []byte("\xff\xd8\xff\xe0"), "the JPEG image is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _, _, err := sniff.FitImage(c.data, sniff.FitOptions{})
			if err == nil || out != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ...%s...", err, c.want)
			}
		})
	}
	if _, _, _, err := sniff.FitImage(encoded(t, noise(200, 200, false), "png"), sniff.FitOptions{MaxBytes: 100}); err == nil {
		t.Error("an impossible limit is met")
	}
}

// withOrientation puts an EXIF segment with the tag into a JPEG image.
func withOrientation(data []byte, value uint16, order binary.AppendByteOrder, mark string) []byte {
	tiff := order.AppendUint16([]byte(mark), 42)
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x010e, 7}, {0x0112, value}} {
		tiff = order.AppendUint16(tiff, entry[0])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, entry[1])
		tiff = append(tiff, 0, 0)
	}
	body := append([]byte("Exif\x00\x00"), tiff...)
	out := binary.BigEndian.AppendUint16([]byte("\xff\xd8\xff\xe1"), uint16(len(body)+2))
	return append(append(out, body...), data[2:]...)
}

// TestFitImageTurnsPhotos makes a stored image whose corner of row 0, column 0
// is red and checks where the standard says that it is shown.
func TestFitImageTurnsPhotos(t *testing.T) {
	stored := image.NewRGBA(image.Rect(0, 0, 120, 80))
	for y := range 80 {
		for x := range 120 {
			c := color.RGBA{G: 255, A: 255} // the rest
			switch {
			case x < 30 && y < 30:
				c = color.RGBA{R: 255, A: 255} // row 0, column 0
			case x >= 90 && y < 30:
				c = color.RGBA{B: 255, A: 255} // end of row 0
			}
			stored.SetRGBA(x, y, c)
		}
	}
	data := encoded(t, stored, "jpeg")
	// For each value: where (right, bottom) row 0, column 0 and the end of row 0 are shown.
	type corner struct{ right, bottom bool }
	shown := map[uint16][2]corner{
		1: {{false, false}, {true, false}}, 2: {{true, false}, {false, false}},
		3: {{true, true}, {false, true}}, 4: {{false, true}, {true, true}},
		5: {{false, false}, {false, true}}, 6: {{true, false}, {true, true}},
		7: {{true, true}, {true, false}}, 8: {{false, true}, {false, false}},
		9: {{false, false}, {true, false}}, // no such value
	}
	for value, corners := range shown {
		for mark, order := range map[string]binary.AppendByteOrder{"II": binary.LittleEndian, "MM": binary.BigEndian} {
			out, _, note, err := sniff.FitImage(withOrientation(data, value, order, mark), sniff.FitOptions{MaxSide: 60})
			if err != nil {
				t.Fatal(err)
			}
			want := sniff.FitNote{OriginalWidth: 120, OriginalHeight: 80, Width: 60, Height: 40, Changed: true}
			if value >= 5 && value <= 8 {
				want = sniff.FitNote{OriginalWidth: 80, OriginalHeight: 120, Width: 40, Height: 60, Changed: true}
			}
			if note != want {
				t.Errorf("%d: %+v, want %+v", value, note, want)
			}
			img, err := jpeg.Decode(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			at := func(c corner) (red, blue bool) {
				x, y := 4, 4
				if c.right {
					x = note.Width - 5
				}
				if c.bottom {
					y = note.Height - 5
				}
				r, _, b, _ := img.At(x, y).RGBA()
				return r > 0xb000, b > 0xb000
			}
			if red, _ := at(corners[0]); !red {
				t.Errorf("%d %s: row 0, column 0 is not at %+v", value, mark, corners[0])
			}
			if _, blue := at(corners[1]); !blue {
				t.Errorf("%d %s: the end of row 0 is not at %+v", value, mark, corners[1])
			}
		}
	}
}

func FuzzFitImage(f *testing.F) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, gradient(8, 8), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(withOrientation(b.Bytes(), 6, binary.LittleEndian, "II"))
	f.Add(pngHeader(3, 3, 8, 2))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if config, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && config.Width*config.Height > 1<<20 {
			t.Skip("slow")
		}
		out, mime, note, err := sniff.FitImage(data, sniff.FitOptions{MaxSide: 16, MaxBytes: 4096})
		if err == nil && (sniff.Image(out) != mime || note.Width > 16 || note.Height > 16 || len(out) > 4096) {
			t.Errorf("%q %+v %d bytes", mime, note, len(out))
		}
	})
}
