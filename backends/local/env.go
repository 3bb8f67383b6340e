package local

import (
	"fmt"
	"runtime"
	"strings"
)

// markerName is the variable by which the processes of a command are found.
const markerName = "PIREMOTE_CALL"

// defaultPath is where programs are looked for when no environment was given.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment merges the base with the command's own values, which win. Later
// values of a name win over earlier ones.
func environment(base []string, own map[string]string, extra ...string) ([]string, error) {
	for name, value := range own {
		if !validName(name) {
			return nil, fmt.Errorf("environment variable name %q is not valid", name)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("environment variable %s contains a NUL byte", name)
		}
	}
	index := map[string]int{}
	var env []string
	put := func(entry string) {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			return
		}
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if i, ok := index[name]; ok {
			env[i] = entry
			return
		}
		index[name] = len(env)
		env = append(env, entry)
	}
	for _, entry := range base {
		put(entry)
	}
	if base == nil && runtime.GOOS != "windows" {
		put("PATH=" + defaultPath)
	}
	for _, entry := range extra {
		put(entry)
	}
	for name, value := range own {
		if name != markerName {
			put(name + "=" + value)
		}
	}
	return env, nil
}

func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// lookup returns the last value of a variable.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		n, value, ok := strings.Cut(env[i], "=")
		if ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			return value
		}
	}
	return ""
}
