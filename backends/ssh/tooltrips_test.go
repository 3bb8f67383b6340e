//go:build linux

package ssh

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/tool"
)

// TestToolRoundTrips measures what a tool call costs without the helper, in the
// unit of the documentation: (t at 200 ms - t at 0 ms) / 200 ms, median of five.
func TestToolRoundTrips(t *testing.T) { //nolint:tparallel // its subtests wait for delays most of the time
	for name, c := range map[string]struct {
		server servers.SSHDOptions
		most   map[string]float64
	}{
		"with a shell": {servers.SSHDOptions{}, map[string]float64{"read": 3, "write": 4, "edit": 7, "ls": 4, "bash": 3}},
		"SFTP only": {
			servers.SSHDOptions{Config: []string{"ForceCommand internal-sftp"}},
			map[string]float64{"read": 5, "write": 9, "edit": 12},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.StartSSHD(t, c.server)
			proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
			must(t, err)
			defer func() { must(t, proxy.Close()) }()
			g := openTarget(t, s, func(o *Options) { o.Port, o.AcceptNew, o.Keepalive = proxy.Port(), true, time.Hour })
			for _, name := range slices.Sorted(maps.Keys(c.most)) {
				measureTool(t, g, proxy, name, c.most[name])
			}
		})
	}
}

// measureTool fails if a tool takes more round trips than most. A machine that is
// busy with other things may delay single measurements; what stands in the way of
// all of them is the tool.
func measureTool(t *testing.T, g *target, proxy *faultproxy.Proxy, name string, most float64) {
	t.Helper()
	run := toolCall(t, g, name)
	median := func(rtt time.Duration) time.Duration {
		proxy.SetDelay(rtt / 2)
		var samples [5]time.Duration
		for i := range samples {
			begin := time.Now()
			run()
			samples[i] = time.Since(begin)
		}
		slices.Sort(samples[:])
		return samples[len(samples)/2]
	}
	const far, tries, blur = 200 * time.Millisecond, 4, 0.5
	var trips float64
	for range tries {
		trips = (median(far) - median(0)).Seconds() / far.Seconds()
		if trips <= most+blur {
			t.Logf("%-5s %.1f round trips", name, trips)
			return
		}
	}
	t.Errorf("%s takes %.1f round trips, %v are allowed", name, trips, most)
}

// toolCall returns a call of a tool that can be repeated, on files of its own.
func toolCall(t *testing.T, g *target, name string) func() {
	t.Helper()
	list, err := tools.New(g.Set(), []string{name}, tools.Options{})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("there is no %s", name)
	}
	g.put(t, name+".txt", strings.Repeat("an ordinary line of text, not long\n", 117)+"number 0\n", 0o644)
	args := map[string]any{"path": name + ".txt"}
	switch name {
	case "bash":
		args = map[string]any{"command": "true"}
	case "ls":
		many := filepath.Join(g.dir, "many")
		must(t, os.Mkdir(many, 0o755))
		for i := range 10_000 {
			must(t, os.WriteFile(filepath.Join(many, fmt.Sprintf("file-%05d", i)), nil, 0o644))
		}
		args = map[string]any{"path": "many", "limit": 10_000}
	}
	n := 0
	return func() {
		switch n++; name {
		case "write":
			args["content"] = fmt.Sprintf("version %d\n", n)
		case "edit":
			args["edits"] = []map[string]string{{"oldText": fmt.Sprintf("number %d\n", n-1), "newText": fmt.Sprintf("number %d\n", n)}}
		}
		text, err := json.Marshal(args)
		must(t, err)
		result, err := list[0].Execute(t.Context(), tool.Call{ID: fmt.Sprint(n), Args: text}, func(tool.Result) {})
		must(t, err)
		if text := fmt.Sprint(result.Content); name == "ls" && !strings.Contains(text, "file-01000") {
			t.Fatalf("the listing is too short: %.200s", text)
		}
	}
}
