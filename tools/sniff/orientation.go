package sniff

import (
	"encoding/binary"
	"image"
)

// orientation is the EXIF tag 0x0112: where row 0 and column 0 of the stored
// image belong. The values are those of the EXIF standard.
type orientation int

const upright orientation = 1

// swapsSides reports whether the shown image is as wide as the stored is high.
func (o orientation) swapsSides() bool { return o >= 5 }

// apply returns the image as it is meant to be seen.
func (o orientation) apply(src *image.RGBA) *image.RGBA {
	if o <= upright || o > 8 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if o.swapsSides() {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch o {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			default: // upright
			}
			copy(out.Pix[out.PixOffset(tx, ty):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return out
}

// exifOrientation reads the tag from the APP1 segment of a JPEG image.
func exifOrientation(jpeg []byte) orientation {
	for at := 2; at+4 <= len(jpeg) && jpeg[at] == 0xff; {
		marker, size := jpeg[at+1], int(binary.BigEndian.Uint16(jpeg[at+2:]))
		if marker == 0xff { // fill byte
			at++
			continue
		}
		if marker == 0xda || size < 2 || at+2+size > len(jpeg) {
			break
		}
		body := jpeg[at+4 : at+2+size]
		if marker == 0xe1 && len(body) > 6 && string(body[:6]) == "Exif\x00\x00" {
			return tiffOrientation(body[6:])
		}
		at += 2 + size
	}
	return upright
}

func tiffOrientation(tiff []byte) orientation {
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == "II" {
		order = binary.LittleEndian
	}
	dir := int64(order.Uint32(tiff[4:]))
	if dir+2 > int64(len(tiff)) {
		return upright
	}
	entries := tiff[dir+2:]
	for range order.Uint16(tiff[dir:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == 0x0112 {
			if v := orientation(order.Uint16(entries[8:])); v >= upright && v <= 8 {
				return v
			}
			break
		}
		entries = entries[12:]
	}
	return upright
}
