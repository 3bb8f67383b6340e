package ops

// Set is everything a workspace offers to the tools. A nil field means that the
// workspace does not offer it, and the tool is not registered.
type Set struct {
	Target     Target
	Read       ReadOperations
	Write      WriteOperations
	Edit       EditOperations
	Bash       BashOperations
	PowerShell PowerShellOperations
	Grep       GrepOperations
	Find       FindOperations
	Ls         LsOperations
	// Mutations serialises changes of one file; shared by all sessions of the
	// workspace.
	Mutations *Mutations
	// At returns the same connection with another working folder and
	// confinement root; nil if the backend can't.
	At func(dir, root string) (Set, error)
}

// Target describes the machine and folder behind a Set.
type Target struct {
	// Label names the workspace in results and errors, such as
	// ssh://user@host/srv/app or local:/srv/app.
	Label   string
	Backend string // local, ssh, docker, memory
	OS      string // linux, darwin, windows …; empty if unknown
	Dir     string // absolute working folder
	Root    string // canonical confinement root; empty if not confined
	Home    string // the account's home folder; empty if unknown
	// Weaker lists guarantees that do not hold fully here, a sentence each.
	Weaker []string
}
