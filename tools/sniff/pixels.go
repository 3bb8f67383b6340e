package sniff

import (
	"image"
	"image/color"
)

// pixelBytes is how much memory a pixel of the decoded image takes at most.
func pixelBytes(config image.Config) int64 {
	if _, ok := config.ColorModel.(color.Palette); ok {
		return 1
	}
	switch config.ColorModel {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}
