package oneline

import (
	"os/exec"
	"testing"

	"github.com/piremote/piremote/internal/require"
)

const script = `# a comment; with a semicolon
f() {
	case $1 in
	a | b)
		echo one
		;;
	*) echo "other # no comment" ;;
	esac
}
if [ -n "x" ] &&
	[ -z "" ]
then
	f a
else
	f never
fi
for i in 1 2
do
	f "$i"
done
echo x | { cat; }
`

func TestJoinKeepsTheMeaning(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		require.Missing(t, "sh", "not installed")
	}
	want, err := exec.CommandContext(t.Context(), sh, "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	line := Join(script)
	got, err := exec.CommandContext(t.Context(), sh, "-c", line).CombinedOutput()
	if err != nil || string(got) != string(want) || len(want) == 0 {
		t.Errorf("%v: %s\nsays %q, want %q", err, line, got, want)
	}
	for _, c := range line {
		if c == '\n' || c == '\t' {
			t.Errorf("%q in %q", c, line)
		}
	}
}
