package ssh

import "testing"

func TestParseJump(t *testing.T) {
	type parts struct {
		User, Host string
		Port       int
	}
	for text, want := range map[string]parts{
		"h": {"", "h", 0}, "u@h": {"u", "h", 0}, "u@h:22": {"u", "h", 22}, "[::1]:33": {"", "::1", 33}, "::1": {"", "::1", 0},
		"ssh://u@h:1/": {"u", "h", 1}, "a@b@h": {"a@b", "h", 0},
	} {
		user, host, port, err := parseJump(text)
		if got := (parts{user, host, port}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"h:x", "h:0", "h:70000"} {
		if _, _, _, err := parseJump(bad); err == nil {
			t.Errorf("%s is no jump host", bad)
		}
	}
}
