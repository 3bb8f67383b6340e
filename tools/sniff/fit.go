package sniff

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// FitOptions bound an image. The zero value has useful bounds.
type FitOptions struct {
	MaxSide  int // pixels a side; 2,000 if 0
	MaxBytes int // encoded bytes; 3,750,000 if 0, which is 5 MB in base64
}

// FitNote says what FitImage did.
type FitNote struct {
	OriginalWidth, OriginalHeight int  // pixels
	Width, Height                 int  // pixels of the result
	Changed                       bool // the result isn't the given data
}

const (
	defaultMaxSide  = 2000
	defaultMaxBytes = 3_750_000
	minSide         = 32 // an image is not made smaller than this to save bytes

	// A small file may decode to very much; its header says to how much.
	maxPixels  = 100_000_000
	maxDecoded = 512 << 20 // bytes
)

// FitImage returns the image within the bounds of opts, with its MIME type.
//
// An image within them is returned as it is (out is data itself), except BMP,
// which becomes PNG. A larger one is scaled down in its proportions and encoded
// as PNG, or as JPEG if it was one or PNG takes too many bytes; of an animation
// the first frame remains, and a photo is turned as its EXIF data says.
//
// It fails if data is no image that Image knows, is damaged (also where it
// would not have to be changed: a model's provider refuses it), would decode to
// more than 100 million pixels or 512 MiB, or cannot be made small enough.
func FitImage(data []byte, opts FitOptions) (out []byte, mime string, note FitNote, err error) {
	maxSide, maxBytes := opts.MaxSide, opts.MaxBytes
	if maxSide <= 0 {
		maxSide = defaultMaxSide
	}
	if maxBytes <= 0 {
		maxBytes = defaultMaxBytes
	}
	mime = Image(data)
	if mime == "" {
		return nil, "", FitNote{}, errors.New("it is not a PNG, JPEG, GIF, WebP or BMP image")
	}
	img, err := decode(data, mime)
	if err != nil {
		return nil, "", FitNote{}, err
	}
	size := img.Bounds().Size()
	note = FitNote{OriginalWidth: size.X, OriginalHeight: size.Y, Width: size.X, Height: size.Y}
	if size.X <= maxSide && size.Y <= maxSide && len(data) <= maxBytes && mime != "image/bmp" {
		return data, mime, note, nil
	}
	note.Changed = true
	turn := upright
	if mime == "image/jpeg" {
		turn = exifOrientation(data)
	}
	if turn.swapsSides() {
		note.OriginalWidth, note.OriginalHeight = size.Y, size.X
	}
	for side := min(maxSide, max(size.X, size.Y)); ; side = side * 3 / 4 {
		small := turn.apply(scale(img, side))
		out, mime, err := encode(small, mime == "image/jpeg", maxBytes)
		if err != nil {
			return nil, "", FitNote{}, err
		}
		if out != nil {
			note.Width, note.Height = small.Rect.Dx(), small.Rect.Dy()
			return out, mime, note, nil
		}
		if side <= minSide {
			return nil, "", FitNote{}, fmt.Errorf("it cannot be made smaller than %d bytes", maxBytes)
		}
	}
}

// decode refuses what would take too much memory before it decodes.
func decode(data []byte, mime string) (image.Image, error) {
	type decoder struct {
		config func([]byte) (image.Config, error)
		image  func([]byte) (image.Image, error)
	}
	var d decoder
	switch mime {
	case "image/png":
		d.config = func(b []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(b)) }
		d.image = func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) }
	case "image/jpeg":
		d.config = func(b []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(b)) }
		d.image = func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) }
	case "image/gif":
		d.config = func(b []byte) (image.Config, error) { return gif.DecodeConfig(bytes.NewReader(b)) }
		d.image = func(b []byte) (image.Image, error) { return gif.Decode(bytes.NewReader(b)) }
	case "image/webp":
		d.config = func(b []byte) (image.Config, error) { return webp.DecodeConfig(bytes.NewReader(b)) }
		d.image = func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) }
	default:
		d.config = func(b []byte) (image.Config, error) { return bmp.DecodeConfig(bytes.NewReader(b)) }
		d.image = func(b []byte) (image.Image, error) { return bmp.Decode(bytes.NewReader(b)) }
	}
	config, err := d.config(data)
	if err != nil {
		return nil, fmt.Errorf("the %s is damaged or of an unknown variant: %w", imageName(mime), err)
	}
	pixels := int64(config.Width) * int64(config.Height)
	switch {
	case config.Width <= 0 || config.Height <= 0:
		return nil, fmt.Errorf("the %s has no pixels", imageName(mime))
	case config.Width > maxPixels || config.Height > maxPixels || pixels > maxPixels || pixels*pixelBytes(config) > maxDecoded:
		return nil, fmt.Errorf("the %s has %d x %d pixels, which is too large to decode", imageName(mime), config.Width, config.Height)
	}
	img, err := d.image(data)
	if err != nil {
		return nil, fmt.Errorf("the %s is damaged or of an unknown variant: %w", imageName(mime), err)
	}
	return img, nil
}

// scale returns the image with its longer side at most side pixels.
func scale(img image.Image, side int) *image.RGBA {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	longer := max(w, h)
	if longer <= side {
		out := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.Draw(out, out.Rect, img, b.Min, draw.Src)
		return out
	}
	out := image.NewRGBA(image.Rect(0, 0, max(1, (w*side+longer/2)/longer), max(1, (h*side+longer/2)/longer)))
	draw.CatmullRom.Scale(out, out.Rect, img, b, draw.Src, nil)
	return out
}

// encode returns nil if it can't reach maxBytes.
func encode(img *image.RGBA, photo bool, maxBytes int) (out []byte, mime string, err error) {
	var buf bytes.Buffer
	if !photo {
		if err := png.Encode(&buf, img); err != nil {
			return nil, "", err
		}
		if buf.Len() <= maxBytes {
			return buf.Bytes(), "image/png", nil
		}
	}
	if !img.Opaque() { // JPEG has no transparency
		white := image.NewRGBA(img.Rect)
		draw.Draw(white, white.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(white, white.Rect, img, img.Rect.Min, draw.Over)
		img = white
	}
	for _, quality := range []int{85, 70, 55, 40} {
		buf.Reset()
		if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
			return nil, "", err
		}
		if buf.Len() <= maxBytes {
			return buf.Bytes(), "image/jpeg", nil
		}
	}
	return nil, "", nil
}
