package textedit_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/textedit"
)

func TestDiffAndPatch(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"
	for _, c := range []struct {
		name, content string
		edits         edits
		diff, patch   string
		line          int
	}{
		{
			"one line", ten,
			edits{{"\n10\n", "\nten\n"}},
			"  6 6\n  7 7\n  8 8\n  9 9\n-10 10\n+10 ten\n 11 11\n 12 12\n 13 13\n 14 14\n",
			"@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n", 10,
		},
		{
			"two hunks", ten,
			edits{{"2\n3\n", "2\n"}, {"20", "twenty"}},
			"  1 1\n  2 2\n- 3 3\n  3 4\n  4 5\n  5 6\n  6 7\n    ...\n 15 16\n 16 17\n 17 18\n 18 19\n-20 20\n+19 twenty\n",
			"@@ -1,6 +1,5 @@\n 1\n 2\n-3\n 4\n 5\n 6\n@@ -17,4 +16,4 @@\n 17\n 18\n 19\n-20\n+twenty\n", 3,
		},
		{
			"near changes share a hunk", ten,
			edits{{"\n5\n", "\nfive\n"}, {"\n8", "\neight"}},
			"  1 1\n  2 2\n  3 3\n  4 4\n- 5 5\n+ 5 five\n  6 6\n  7 7\n- 8 8\n+ 8 eight\n  9 9\n 10 10\n 11 11\n 12 12\n",
			"@@ -2,10 +2,10 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n-8\n+eight\n 9\n 10\n 11\n", 5,
		},
		{
			"six lines apart is one hunk of the patch", ten,
			edits{{"\n3\n", "\nx\n"}, {"\n10\n", "\nx\n"}},
			"  1 1\n  2 2\n- 3 3\n+ 3 x\n  4 4\n  5 5\n  6 6\n  7 7\n  8 8\n  9 9\n-10 10\n+10 x\n 11 11\n 12 12\n 13 13\n 14 14\n",
			"@@ -1,13 +1,13 @@\n 1\n 2\n-3\n+x\n 4\n 5\n 6\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n", 3,
		},
		{
			"seven lines apart are two", ten,
			edits{{"\n3\n", "\nx\n"}, {"\n11\n", "\nx\n"}},
			"  1 1\n  2 2\n- 3 3\n+ 3 x\n  4 4\n  5 5\n  6 6\n  7 7\n  8 8\n  9 9\n 10 10\n-11 11\n+11 x\n 12 12\n 13 13\n 14 14\n 15 15\n",
			"@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+x\n 4\n 5\n 6\n@@ -8,7 +8,7 @@\n 8\n 9\n 10\n-11\n+x\n 12\n 13\n 14\n", 3,
		},
		{
			"unchanged lines of old", "a\nb\nc\n",
			edits{{"a\nb\nc", "a\nB\nc"}},
			" 1 a\n-2 b\n+2 B\n 3 c\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", 2,
		},
		{
			"no newline at the end, gained", "a\nb",
			edits{{"b", "b\n"}},
			" 1 a\n-2 b\n\\ No newline at end of file\n+2 b\n",
			"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", 2,
		},
		{
			"no newline at the end, lost", "a\nb\n",
			edits{{"b\n", "b"}},
			" 1 a\n-2 b\n+2 b\n\\ No newline at end of file\n",
			"@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", 2,
		},
		{
			"no newline at the end, kept", "a\nb",
			edits{{"a", "A"}},
			"-1 a\n+1 A\n 2 b\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", 1,
		},
		{
			"all deleted", "a\nb\n",
			edits{{"a\nb\n", ""}},
			"-1 a\n-2 b\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", 1,
		},
		{
			"last line deleted", "a\nb\n",
			edits{{"b\n", ""}},
			" 1 a\n-2 b\n", "@@ -1,2 +1 @@\n a\n-b\n", 1,
		},
		{
			"endings that differ are shown", "a\nb\r\n",
			edits{{"a", "a\r"}},
			"-1 a\n+1 a\u240D\n 2 b\u240D\n", "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\r\n", 1,
		},
		{
			"CRLF", "a\r\nb\r\n",
			edits{{"b", "c"}},
			" 1 a\n-2 b\n+2 c\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", 2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := apply(t, c.content, c.edits...)
			if diff := cmp.Diff(strings.Split(c.diff, "\n"), strings.Split(out.Diff, "\n")); diff != "" {
				t.Errorf("Diff: %s", diff)
			}
			if diff := cmp.Diff("--- a/a.txt\n+++ b/a.txt\n"+c.patch, out.Patch); diff != "" {
				t.Errorf("Patch: %s", diff)
			}
			if out.FirstChangedLine != c.line {
				t.Errorf("FirstChangedLine = %d, want %d", out.FirstChangedLine, c.line)
			}
			checkPatch(t, "a.txt", c.content, out)
		})
	}
}

func TestPatchNames(t *testing.T) {
	for name, want := range map[string]string{
		"dir/a b.txt":     "a/dir/a b.txt\t",
		"/srv/app/x.go":   "a/srv/app/x.go",
		"./x/../y.go":     "a/y.go",
		"tab\there":       `"a/tab\011here"`,
		`q"uo\te`:         `"a/q\"uo\\te"`,
		"caf\u00e9.txt":   "a/caf\u00e9.txt",
		"new\nline":       `"a/new\012line"`,
		"../outside.conf": "a/outside.conf",
	} {
		out, err := textedit.Apply(name, []byte("x\n"), edits{{"x", "y"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(strings.TrimPrefix(out.Patch, "--- "), "\n"); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
		checkPatch(t, strings.TrimPrefix(name, "../"), "x\n", out)
	}
}

// checkPatch runs the patch program on the old content.
func checkPatch(t *testing.T, name, content string, out textedit.Outcome) {
	t.Helper()
	program, err := exec.LookPath("patch")
	if err != nil {
		require.Missing(t, "patch", "package patch")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-p1", "--fuzz=0", "--no-backup-if-mismatch")
	cmd.WaitDelay = time.Second
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(out.Patch)
	if log, err := cmd.CombinedOutput(); err != nil || bytes.Contains(log, []byte("offset")) {
		t.Errorf("patch: %v\n%s\ncontent %q\n%s", err, log, content, out.Patch)
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, out.Bytes) {
		t.Errorf("patch made %q, want %q\n%s", got, out.Bytes, out.Patch)
	}
}

// TestPatchOracle makes random edits and lets the patch program repeat them.
func TestPatchOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for done := 0; done < 300; {
		content, list := randomCase(random, 60)
		out, err := textedit.Apply("f", []byte(content), list)
		if err != nil {
			continue
		}
		done++
		checkPatch(t, "f", content, out)
		if t.Failed() {
			t.Fatalf("edits %q", list)
		}
	}
}

func TestCostFollowsTheChange(t *testing.T) {
	line := "some line of text that stays as it is\n"
	big := []byte(strings.Repeat(line, 5<<20/len(line)) + "the one\n" + strings.Repeat(line, 5<<20/len(line)))
	for name, content := range map[string][]byte{"LF": big, "CRLF": bytes.ReplaceAll(big, []byte("\n"), []byte("\r\n"))} {
		t.Run(name, func(t *testing.T) {
			best := time.Hour
			for range 5 {
				start := time.Now()
				out, err := textedit.Apply("f", content, edits{{"the one\n", "the other\n"}})
				best = min(best, time.Since(start))
				if err != nil || len(out.Patch) > 500 || len(out.Diff) > 600 {
					t.Fatal(err, len(out.Patch), len(out.Diff))
				}
			}
			t.Logf("%v for %d bytes", best, len(content))
			if best > time.Second {
				t.Errorf("took %v", best)
			}
		})
	}
}

func TestDiffIsBounded(t *testing.T) {
	long := strings.Repeat("x", 6<<20)
	out := apply(t, "a\n"+long+" KEY\nb\n", textedit.Edit{Old: "KEY", New: "\x1b\xff"})
	if len(out.Diff) > 3000 || out.Patch != "" {
		t.Errorf("diff of %d bytes, patch of %d", len(out.Diff), len(out.Patch))
	}
	many := strings.Repeat("line\n", 1<<19)
	out = apply(t, many+"KEY\n", textedit.Edit{Old: "KEY", New: many})
	if len(out.Diff) > 2<<20 {
		t.Errorf("diff of %d bytes", len(out.Diff))
	}
}
