package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// Options says where configuration comes from.
type Options struct {
	// File is the user's file; empty means the default place, where a missing
	// file is no error.
	File string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Flags are values from the command line, by key.
	Flags map[string]any
}

// Error is a fault of the configuration. Its text names file, line and key.
type Error struct {
	File string
	Line int // 0 if unknown
	Key  string
	Msg  string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Path returns the default place of the user's file.
func Path(getenv func(string) string) string {
	if getenv == nil {
		getenv = os.Getenv
	}
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "piremote", "config.yaml")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "piremote", "config.yaml")
	}
	return ""
}

// Load reads the configuration. Faults are *Error.
func Load(o Options) (*Config, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	file, data, err := readFile(o)
	if err != nil {
		return nil, err
	}
	v := viper.New()
	v.SetConfigType("yaml")
	for key, value := range defaults() {
		v.SetDefault(key, value)
	}
	lines := map[string]int{}
	if data != nil {
		if lines, err = keyLines(file, data); err != nil {
			return nil, err
		}
		if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
			return nil, &Error{File: file, Msg: err.Error()}
		}
	}
	source := map[string]string{}
	for key := range defaults() {
		name := EnvName(key)
		if value := o.Getenv(name); value != "" {
			v.Set(key, value)
			source[key] = name
		}
	}
	for key, value := range o.Flags {
		v.Set(key, value)
		source[key] = "--" + strings.ReplaceAll(key, "_", "-")
	}
	c := &Config{}
	if err := decode(v.AllSettings(), c); err != nil {
		return nil, locate(err, file, lines, source)
	}
	if err := c.check(); err != nil {
		return nil, locate(err, file, lines, source)
	}
	return c, nil
}

// EnvName is the environment variable of a key.
func EnvName(key string) string {
	return "PIREMOTE_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func readFile(o Options) (string, []byte, error) {
	file := o.File
	if file == "" {
		file = o.Getenv("PIREMOTE_CONFIG")
	}
	explicit := file != ""
	if !explicit {
		if file = Path(o.Getenv); file == "" {
			return "", nil, nil
		}
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
		return file, nil, nil
	case err != nil:
		return "", nil, &Error{File: file, Msg: fmt.Sprintf("can't be read: %v", errors.Unwrap(err))}
	}
	return file, data, nil
}

func decode(settings map[string]any, c *Config) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:           c,
		ErrorUnused:      true,
		WeaklyTypedInput: true, // environment variables are strings
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			decodeDuration,
			mapstructure.StringToSliceHookFunc(","),
		),
	})
	if err != nil {
		return err
	}
	return d.Decode(settings)
}

// decodeDuration demands a unit: a bare number would be taken as nanoseconds
// (hazard CFG-08).
func decodeDuration(_, to reflect.Type, value any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() {
		return value, nil
	}
	text := fmt.Sprint(value)
	if text == "0" {
		return time.Duration(0), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no duration: give a number with a unit, such as 30s or 10m", text)
	}
	if d < 0 {
		return nil, fmt.Errorf("%q is negative: a duration is zero or more", text)
	}
	return d, nil
}

// isToolName reports whether every provider takes it for the name of a tool.
func isToolName(name string) bool {
	return len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// check holds what types can't say.
func (c *Config) check() error {
	seen := map[string]bool{}
	for i, w := range c.Workspaces {
		key := fmt.Sprintf("workspaces[%d]", i)
		switch {
		case w.Name == "":
			return &Error{Key: key + ".name", Msg: "is missing: every workspace has a name"}
		case seen[w.Name]:
			return &Error{Key: key + ".name", Msg: fmt.Sprintf("%q is used twice: names of workspaces differ", w.Name)}
		}
		seen[w.Name] = true
		if err := w.check(key); err != nil {
			return err
		}
	}
	if !oneOf(c.Confine, "on", "strict", "off") {
		return &Error{Key: "confine", Msg: fmt.Sprintf("%q is none of on, strict, off", c.Confine)}
	}
	if !oneOf(c.Freshness, "on", "strict") {
		return &Error{Key: "freshness", Msg: fmt.Sprintf("%q is none of on, strict", c.Freshness)}
	}
	if err := checkRoots("extra_roots", c.ExtraRoots); err != nil {
		return err
	}
	tools := map[string]bool{}
	for i, t := range c.ScriptTools {
		key := fmt.Sprintf("script_tools[%d]", i)
		switch {
		case tools[t.Name]:
			return &Error{Key: key + ".name", Msg: fmt.Sprintf("%q is used twice: names of tools differ", t.Name)}
		case t.Name == "" || t.Command == "":
			return &Error{Key: key, Msg: "has no name or no command: a script tool needs both"}
		case !isToolName(t.Name):
			return &Error{Key: key + ".name", Msg: fmt.Sprintf("%q can't be the name of a tool: take at most 64 of the letters, digits, _ and - that every provider knows", t.Name)}
		case !oneOf(t.Where, "", "workspace", "client"):
			return &Error{Key: key + ".where", Msg: fmt.Sprintf("%q is none of workspace, client", t.Where)}
		}
		tools[t.Name] = true
	}
	if !oneOf(c.Shell.Background, "session", "keep", "kill") {
		return &Error{Key: "shell.background", Msg: fmt.Sprintf("%q is none of session, keep, kill", c.Shell.Background)}
	}
	if !oneOf(c.Helper.Policy, "auto", "require", "never") {
		return &Error{Key: "helper.policy", Msg: fmt.Sprintf("%q is none of auto, require, never", c.Helper.Policy)}
	}
	if !oneOf(c.SSH.HostKeys, "strict", "accept-new") {
		return &Error{Key: "ssh.host_keys", Msg: fmt.Sprintf("%q is none of strict, accept-new", c.SSH.HostKeys)}
	}
	return nil
}

func (w Workspace) check(key string) error {
	if !oneOf(w.Helper, "", "auto", "require", "never") {
		return &Error{Key: key + ".helper", Msg: fmt.Sprintf("%q is none of auto, require, never", w.Helper)}
	}
	for _, e := range w.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return &Error{Key: key + ".env", Msg: fmt.Sprintf("%q has not the form NAME=value", e)}
		}
	}
	if len(w.Env) > 0 && w.Backend != "docker" {
		return &Error{Key: key + ".env", Msg: "is for docker workspaces alone; a sandbox has sandbox.env"}
	}
	if !oneOf(w.Confine, "", "on", "strict", "off") {
		return &Error{Key: key + ".confine", Msg: fmt.Sprintf("%q is none of on, strict, off", w.Confine)}
	}
	if err := checkRoots(key+".extra_roots", w.ExtraRoots); err != nil {
		return err
	}
	switch w.Backend {
	case "local":
		if w.Path == "" {
			return &Error{Key: key + ".path", Msg: "is missing: a local workspace has a folder"}
		}
	case "ssh":
		if w.Host == "" {
			return &Error{Key: key + ".host", Msg: "is missing: an ssh workspace has a host"}
		}
	case "docker":
		if w.Container == "" {
			return &Error{Key: key + ".container", Msg: "is missing: a docker workspace has a container"}
		}
	case "sandbox":
		if w.Sandbox.Image == "" {
			return &Error{Key: key + ".sandbox.image", Msg: "is missing: a sandbox workspace has an image"}
		}
	default:
		return &Error{Key: key + ".backend", Msg: fmt.Sprintf("%q is none of local, ssh, docker, sandbox", w.Backend)}
	}
	return nil
}

// checkRoots demands absolute paths: what they are relative to would differ with the
// target.
func checkRoots(key string, roots []string) error {
	for _, r := range roots {
		if p := strings.TrimSuffix(r, ":ro"); !strings.HasPrefix(p, "/") && !filepath.IsAbs(p) {
			return &Error{Key: key, Msg: fmt.Sprintf("%q is not absolute: write /path, or /path:ro for a folder that is only read", r)}
		}
	}
	return nil
}

func oneOf(s string, all ...string) bool {
	for _, a := range all {
		if s == a {
			return true
		}
	}
	return false
}

// keyLines maps each key of a YAML file, in Viper's spelling, to its line. A key
// that stands twice is an error.
func keyLines(file string, data []byte) (map[string]int, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, &Error{File: file, Msg: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	lines := map[string]int{}
	if len(doc.Content) == 0 {
		return lines, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, &Error{File: file, Line: doc.Content[0].Line, Msg: "the file must be a mapping of keys"}
	}
	return lines, walkLines(file, "", doc.Content[0], lines)
}

func walkLines(file, prefix string, n *yaml.Node, lines map[string]int) error {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := strings.ToLower(n.Content[i].Value)
			if prefix != "" {
				key = prefix + "." + key
			}
			if _, twice := lines[key]; twice {
				return &Error{File: file, Line: n.Content[i].Line, Key: key, Msg: "stands twice"}
			}
			lines[key] = n.Content[i].Line
			if err := walkLines(file, key, n.Content[i+1], lines); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			key := fmt.Sprintf("%s[%d]", prefix, i)
			lines[key] = item.Line
			if err := walkLines(file, key, item, lines); err != nil {
				return err
			}
		}
	default: // scalars have no keys
	}
	return nil
}
