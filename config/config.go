package config

import "time"

// Config is the effective configuration. It is a value that nobody changes.
type Config struct {
	// Workspace is where effects happen when no flag says so: a name from
	// Workspaces or a workspace address.
	Workspace string `mapstructure:"workspace"`
	// Workspaces are the named workspaces of which a session picks one.
	Workspaces []Workspace `mapstructure:"workspaces"`
	// Model is "provider/id", or "scripted:FILE".
	Model string `mapstructure:"model"`
	// Tools are the names of the active tools; empty means the default set.
	Tools []string `mapstructure:"tools"`
	// Confine is how file tools are kept inside the workspace: on; strict, which
	// refuses changes where that can't be kept up against a program that swaps
	// folders; or off.
	Confine string `mapstructure:"confine"`
	// ExtraRoots are further folders on the target that file tools may reach:
	// absolute paths, with ":ro" behind those that are only read.
	ExtraRoots []string `mapstructure:"extra_roots"`
	// Freshness is what is demanded of a file that is changed: on, which refuses to lose
	// what somebody else wrote since the session saw it; or strict, which demands that the
	// session has read it and that nobody changed it since.
	Freshness string `mapstructure:"freshness"`
	// Providers adjusts or adds model providers.
	Providers []Provider `mapstructure:"providers"`
	// ScriptTools are tools of one's own.
	ScriptTools []ScriptTool `mapstructure:"script_tools"`

	Shell  Shell  `mapstructure:"shell"`
	SSH    SSH    `mapstructure:"ssh"`
	Helper Helper `mapstructure:"helper"`
	Limits Limits `mapstructure:"limits"`
}

// Workspace is a named place where effects happen.
type Workspace struct {
	Name    string `mapstructure:"name"`
	Backend string `mapstructure:"backend"` // local, ssh, docker or sandbox
	// Path is the working folder on the target.
	Path string `mapstructure:"path"`
	// Root is the confinement root on the target; empty means Path.
	Root string `mapstructure:"root"`
	// Confine is as in the configuration, whose value counts where it is empty.
	Confine string `mapstructure:"confine"`
	// ExtraRoots come beside those of the configuration.
	ExtraRoots []string `mapstructure:"extra_roots"`

	// For ssh.
	Host          string   `mapstructure:"host"` // a host name or an alias of ssh_config
	User          string   `mapstructure:"user"` // for docker and sandbox: the user of commands
	Port          int      `mapstructure:"port"`
	IdentityFiles []string `mapstructure:"identity_files"`
	KnownHosts    []string `mapstructure:"known_hosts"`

	// Helper is the policy of this workspace: auto, require or never; empty means
	// that of the configuration.
	Helper string `mapstructure:"helper"`

	// For docker; Endpoint for sandbox too.
	Container string `mapstructure:"container"`
	Endpoint  string `mapstructure:"endpoint"` // the daemon; empty means DOCKER_HOST or the CLI's context
	// Env is added to the environment of commands in a container, as NAME=value; a
	// sandbox has its own.
	Env []string `mapstructure:"env"`

	Sandbox Sandbox `mapstructure:"sandbox"`
}

// Sandbox describes a fresh container. What is empty or zero has a default.
type Sandbox struct {
	Image   string   `mapstructure:"image"`
	Folder  string   `mapstructure:"folder"`  // of this machine; empty means the current one
	Copy    bool     `mapstructure:"copy"`    // works on a copy of the folder
	Network string   `mapstructure:"network"` // none, bridge or a name
	Memory  string   `mapstructure:"memory"`  // such as 512m or 2g, or none
	CPUs    float64  `mapstructure:"cpus"`    // less than zero: no limit
	Pids    int64    `mapstructure:"pids"`    // as above
	Mounts  []string `mapstructure:"mounts"`  // host:container[:ro] or tmpfs:container
	Env     []string `mapstructure:"env"`     // NAME=value
	Keep    bool     `mapstructure:"keep"`    // the container outlives the session
}

// Provider is a model provider.
type Provider struct {
	Name      string `mapstructure:"name"`
	Type      string `mapstructure:"type"` // anthropic, openai, google, openrouter or openai-compatible
	BaseURL   string `mapstructure:"base_url"`
	APIKeyEnv string `mapstructure:"api_key_env"` // the environment variable that holds the key
}

// ScriptTool is a tool that is a command: it gets the arguments as a JSON object on
// standard input and answers with one, {"content", "details", "isError"}.
type ScriptTool struct {
	Name        string `mapstructure:"name"`
	Description string `mapstructure:"description"`
	// Parameters is the JSON schema of the arguments, as text; empty takes none.
	Parameters string        `mapstructure:"parameters"`
	Command    string        `mapstructure:"command"`
	Timeout    time.Duration `mapstructure:"timeout"` // 0 means an hour
	// Where is workspace, or client: on this machine, in the current folder, which
	// --remote-only refuses. Empty means workspace.
	Where string `mapstructure:"where"`
}

// Shell adjusts the shell tools.
type Shell struct {
	Path       string        `mapstructure:"path"`
	Prefix     string        `mapstructure:"prefix"`
	Timeout    time.Duration `mapstructure:"timeout"`     // for calls that name none; 0 means none
	MaxTimeout time.Duration `mapstructure:"max_timeout"` // the largest that a call may ask for
	Background string        `mapstructure:"background"`  // session, keep or kill
	SessionEnv bool          `mapstructure:"session_env"` // expose the PI_* variables
	Spill      bool          `mapstructure:"spill"`       // keep full output in a file on the target
}

// SSH adjusts SSH connections.
type SSH struct {
	ConfigFile     string        `mapstructure:"config_file"` // "none" reads none; empty means ~/.ssh/config
	ConnectTimeout time.Duration `mapstructure:"connect_timeout"`
	Keepalive      time.Duration `mapstructure:"keepalive"`
	KeepaliveCount int           `mapstructure:"keepalive_count"`
	HostKeys       string        `mapstructure:"host_keys"` // strict or accept-new
}

// Helper adjusts the program that carries the engine to hosts and containers.
type Helper struct {
	Policy string        `mapstructure:"policy"` // auto, require or never
	Lease  time.Duration `mapstructure:"lease"`  // how long commands outlive a lost connection; 0 ends them with it
}

// Limits end a run; 0 means no limit.
type Limits struct {
	Turns     int           `mapstructure:"turns"`
	ToolCalls int           `mapstructure:"tool_calls"`
	Cost      float64       `mapstructure:"cost"` // US dollars
	Time      time.Duration `mapstructure:"time"`
	Repeats   int           `mapstructure:"repeats"` // identical consecutive batches
}

// defaults are the values of keys that no source sets. Every key is here: Viper
// takes environment variables only for keys that it knows.
func defaults() map[string]any {
	return map[string]any{
		"workspace":           ".",
		"workspaces":          []any{},
		"model":               "",
		"tools":               []string{},
		"confine":             "on",
		"freshness":           "on",
		"extra_roots":         []string{},
		"providers":           []any{},
		"script_tools":        []any{},
		"shell.path":          "",
		"shell.prefix":        "",
		"shell.timeout":       "0s",
		"shell.max_timeout":   "24h",
		"shell.background":    "session",
		"shell.session_env":   true,
		"shell.spill":         true,
		"helper.policy":       "auto",
		"helper.lease":        "0s",
		"ssh.config_file":     "",
		"ssh.connect_timeout": "15s",
		"ssh.keepalive":       "15s",
		"ssh.keepalive_count": 3,
		"ssh.host_keys":       "strict",
		"limits.turns":        0,
		"limits.tool_calls":   0,
		"limits.cost":         0.0,
		"limits.time":         "0s",
		"limits.repeats":      5,
	}
}
