package main

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines) // the last two overlap
	want := []string{
		"false 68 °F", `true Validation failed for tool "convert_temperature":`, "true convert -300 °C: nothing is colder than -273.15 °C",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}
