package client_test

import (
	"testing"

	"github.com/piremote/piremote/backends/backendtest/confinement"
)

func TestCONF04Racer(t *testing.T) {
	confinement.Racer(t, confinement.Lengths{Short: 1000, Long: 20_000}, openMaze).NoEscape(t)
}
