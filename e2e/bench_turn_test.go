//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// loopbackModel answers a prompt by one call of ls, and the result of that by a word.
func loopbackModel(b *testing.B) string {
	b.Helper()
	chunk := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	call := chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}`, "null") +
		chunk("{}", `"tool_calls"`) + "data: [DONE]\n\n"
	text := chunk(`{"role":"assistant","content":"done"}`, "null") + chunk("{}", `"stop"`) + "data: [DONE]\n\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Messages []struct{ Role string } }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
			http.Error(w, "no request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		answer := call
		if request.Messages[len(request.Messages)-1].Role == "tool" {
			answer = text
		}
		_, _ = io.WriteString(w, answer)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// BenchmarkTurn is a whole turn over the wire of events: a prompt, an answer that calls
// ls, its result, a last answer. The session begins anew before each.
func BenchmarkTurn(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%v", kept), func(b *testing.B) { turns(b, kept) })
	}
}

func turns(b *testing.B, kept bool) {
	b.Helper()
	workspace, home := b.TempDir(), b.TempDir()
	config := filepath.Join(home, "config.yaml")
	text := "model: mine/m\nproviders:\n- {name: mine, type: openai-compatible, base_url: \"" + loopbackModel(b) + "/v1\"}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	args := []string{"--config", config, "-w", workspace, "--mode", "rpc", "--tools", "ls"}
	if !kept {
		args = append(args, "--no-session")
	}
	cmd := exec.CommandContext(b.Context(), binary, args...)
	cmd.Env, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	until := func(command, mark string) {
		b.Helper()
		if _, err := io.WriteString(in, command+"\n"); err != nil {
			b.Fatal(err)
		}
		for lines.Scan() {
			if strings.Contains(lines.Text(), mark) {
				return
			}
		}
		b.Fatalf("%s: no %s comes: %v", command, mark, lines.Err())
	}
	until(`{"type":"prompt","message":"warm"}`, `"agent_settled"`)
	for b.Loop() {
		b.StopTimer()
		until(`{"type":"new_session"}`, `"command":"new_session"`)
		b.StartTimer()
		until(`{"type":"prompt","message":"go"}`, `"agent_settled"`)
	}
	if err := in.Close(); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}
