package local

import (
	"testing"

	"github.com/piremote/piremote/backends/backendtest/confinement"
)

func TestCONF04Racer(t *testing.T) {
	confinement.Racer(t, confinement.Lengths{Short: 2000, Long: 20_000}, openMaze).NoEscape(t)
}
