package main

import (
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
	want := "Let me wait.\n[wait {\"seconds\":0.01}]\n[wait done]\nThat was quick.\n[the run ended: done, 4 messages]\n"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
