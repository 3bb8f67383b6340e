//go:build !noproviders

package cli

import (
	"strings"
	"testing"
)

func TestModels(t *testing.T) {
	const key = "sk-ant-secret-0123456789"
	list := func(args ...string) (int, string, string) {
		var out, err strings.Builder
		code := Main(Process{Args: append([]string{"models"}, args...), Stdout: &out, Stderr: &err, Env: []string{"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=" + key}})
		return code, out.String(), err.String()
	}
	code, all, _ := list()
	if code != exitOK || strings.Contains(all, key) || !strings.Contains(all, "gemini: GEMINI_API_KEY is not set") || strings.Count(all, "\n") < 100 {
		t.Errorf("exit %d:\n%.2000s", code, all)
	}
	code, some, _ := list("Anthropic/", "sonnet-4-5")
	want := []string{
		"anthropic: ANTHROPIC_API_KEY is set", "MODEL CONTEXT OUTPUT IN OUT READ WRITE IMAGES THINKING",
		"anthropic/claude-sonnet-4-5-20250929 200k 64k 3 15 0.3 3.75 yes any level",
	}
	var got []string
	for line := range strings.Lines(some) {
		if fields := strings.Fields(line); len(fields) > 0 {
			got = append(got, strings.Join(fields, " "))
		}
	}
	if code != exitOK || len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("exit %d:\n%s", code, some)
	}
	if code, out, err := list("no-such-model"); code != exitUsage || out != "" || !strings.Contains(err, "no-such-model") {
		t.Errorf("exit %d, %s%s", code, out, err)
	}
}

func TestWithoutUser(t *testing.T) {
	for address, want := range map[string]string{
		"https://me:secret@host:1/v1": "https://host:1/v1", "https://host/v1": "https://host/v1", "https://host/a@b": "https://host/a@b", "nonsense": "nonsense",
	} {
		if got := withoutUser(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
