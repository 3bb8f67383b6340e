package docker

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// ran runs a command that may fail, and returns all that is said of it.
func ran(t *testing.T, set ops.Set, script string) (exit ops.Exit, said string, err error) {
	t.Helper()
	var out strings.Builder
	cmd := ops.Command{Script: script, Timeout: 30 * time.Second, Grace: time.Second}
	exit, err = set.Bash.Exec(t.Context(), cmd, func(c ops.Chunk) {
		if out.Len() < 4000 {
			out.Write(c.Data)
		}
	})
	said = strings.Join(exit.Limits, "; ")
	if err != nil {
		said += "; " + err.Error()
	}
	t.Logf("%s: %+v, %v, %.300q", script, exit, err, out.String())
	return exit, said, err
}

// goesOn makes sure that the session does, after errors that name what holds it up. A
// command may also get through while a bomb still burns: it is out when several do.
func goesOn(t *testing.T, set ops.Set) {
	t.Helper()
	through := 0
	for range 60 {
		exit, said, err := ran(t, set, "echo alive")
		switch {
		case err == nil && exit.Code == 0 && said == "":
			if through++; through == 3 {
				return
			}
			continue
		case !strings.Contains(said, "as many as are allowed") && !strings.Contains(said, "limit of"):
			t.Fatalf("it does not go on: %+v, %v", exit, err)
		}
		through = 0
	}
	t.Fatal("it does not go on")
}

func TestSandboxSurvivesBombs(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	o.Memory, o.Pids = 192<<20, 96
	var mu sync.Mutex
	var notices []string
	o.Notice = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, text)
	}
	s := sandbox(t, o)

	// Processes without end.
	if _, said, _ := ran(t, s.Set(), "b() { b | b & }; b; sleep 1"); !strings.Contains(said, "limit of 96") && !strings.Contains(said, "as many as are allowed") {
		t.Errorf("the fork bomb: %q", said)
	}
	goesOn(t, s.Set())

	// Memory without end.
	exit, said, err := ran(t, s.Set(), "dd if=/dev/zero of=/dev/null bs=600M count=1")
	if err != nil || exit.Code != 137 || !strings.Contains(said, "out of memory: processes were killed at the container's limit of 192 MiB") {
		t.Errorf("the allocation bomb: %+v, %v", exit, err)
	}
	goesOn(t, s.Set())

	// Folders in memory are smaller than that.
	if exit, said, err := ran(t, s.Set(), "dd if=/dev/zero of=/tmp/x bs=1M count=400; dd if=/dev/zero of=$HOME/x bs=1M count=400; test -s /tmp/x -a -s $HOME/x && rm /tmp/x ~/x"); err != nil || exit.Code != 0 || said != "" {
		t.Errorf("full folders: %+v, %v", exit, err)
	}
	goesOn(t, s.Set())

	// Nothing is left of what could end the processes.
	if _, said, err := ran(t, s.Set(), `watch=$(ps -o pid,args | grep -E 'serve|supervise' | grep -v grep | awk '{print $1}')
		trap 'kill -9 $watch' EXIT
		while :; do setsid sleep 1000 & done`); ops.KindOf(err) != ops.KindOutcomeUnknown {
		t.Errorf("the helper's end: %q, %v", said, err)
	}
	goesOn(t, s.Set())
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(notices, "\n"); !strings.Contains(all, "It is restarted") {
		t.Errorf("notices %q", notices)
	}
	if got := get(t, o.Folder+"/a.txt"); got != "hello\n" {
		t.Errorf("the folder has %q", got)
	}
}
