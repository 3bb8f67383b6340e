package ops

import "time"

// Command is one command for a target.
//
// The script travels as data, byte-exact, up to megabytes; no part of it is
// spliced into another script. Its stdin is empty, it has no terminal, and it
// runs in a session and process group of its own.
type Command struct {
	Script string
	Shell  Shell
	// Dir is the absolute folder to run in. If it does not exist nothing runs.
	Dir string
	// Env is added to the target's own environment. Names match
	// [A-Za-z_][A-Za-z0-9_]*, values hold no NUL; they never appear in argv.
	Env map[string]string
	// Timeout ends the tree when it has passed; zero means never.
	Timeout time.Duration
	// Grace is the time between TERM and KILL; zero means DefaultGrace.
	Grace time.Duration
	// Spill keeps the raw output in a file on the target as soon as it exceeds
	// SpillBytes or SpillLines; see Exit.SpillPath.
	Spill bool
	// SpillLimit bounds the spill file in bytes; zero means DefaultSpillLimit.
	SpillLimit int64
	// Background says what happens to processes that outlive a finished command.
	Background Background
}

// Defaults of Command, and the size from which output is spilled. Fewer than
// SpillBytes raw bytes in fewer than SpillLines lines can't exceed what a model
// is shown, whatever they decode to.
const (
	DefaultGrace      = 2 * time.Second
	DefaultSpillLimit = 64 << 20
	SpillBytes        = 16 << 10
	SpillLines        = 2000
)

// Shell chooses the interpreter of a script.
type Shell struct {
	Kind ShellKind
	// Path is the absolute path of the interpreter; empty means the first of
	// bash and sh (pwsh and powershell) on the target.
	Path string
}

// ShellKind is a family of interpreters.
type ShellKind string

// The shell kinds; the zero value means ShellPOSIX.
const (
	ShellPOSIX      ShellKind = "posix"
	ShellPowerShell ShellKind = "powershell"
)

// Background is what happens to processes that a finished command leaves
// behind. What a timed-out or aborted command started is always ended at once.
type Background string

// The choices; the zero value means BackgroundSession.
const (
	BackgroundSession Background = "session" // ended, with their trees, when the workspace is closed
	BackgroundKeep    Background = "keep"    // left alone
	BackgroundKill    Background = "kill"    // ended when the command ends
)

// Chunk is a piece of output.
type Chunk struct {
	// Dropped counts bytes that were produced before Data and not delivered,
	// because the client was behind; DroppedLines the line feeds among them.
	Dropped      int64
	DroppedLines int64
	Data         []byte
}

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code; 128+n after signal n.
	Code int
	// Signal is the name of the ending signal, such as "KILL"; empty if none.
	Signal string
	// TimedOut reports that Timeout passed and the tree was ended.
	TimedOut bool
	// Shell is the interpreter that ran, such as /usr/bin/bash.
	Shell string
	// Background reports that processes of the finished command still hold its
	// output or carry its marker.
	Background bool
	// Killed counts processes that termination ended; Survivors names those
	// that it could not end, as "pid name".
	Killed    int
	Survivors []string
	// Unverified says why survivors could not be looked for; empty if they were.
	Unverified string
	// Limits says which limits of the target's container processes ran into while the
	// command ran, a clause each; also processes that the command did not start. Empty
	// where there is nothing of that, or nobody can count it.
	Limits []string
	// SpillPath names the file on the target with the raw output, if there is
	// one; SpillSize is its size and SpillCut says that the limit cut it.
	SpillPath string
	SpillSize int64
	SpillCut  bool
}
