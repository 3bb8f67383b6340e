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

// Root is a folder that file operations may reach besides the confinement root, or
// inside it. Of roots in one another the innermost counts.
type Root struct {
	Path     string
	ReadOnly bool // operations that would change something there are ErrReadOnly
}

// Confinement is how paths are kept inside the roots while something at the target
// swaps what is on the way.
type Confinement string

// The kinds of confinement, strongest first.
const (
	// ByDescriptor opens everything relative to the opened root: there is no moment
	// between looking and using.
	ByDescriptor Confinement = "descriptor"
	// ByEntering enters the folder, compares where it is, and uses names in it alone:
	// nothing outside is read or changed, but that something is there may be seen.
	ByEntering Confinement = "entering"
	// ByChecking checks a path and then uses it, and looks again: a swap in between is
	// noticed mostly, and at times too late.
	ByChecking Confinement = "checking"
)

// Target describes the machine and folder behind a Set.
type Target struct {
	// Label names the workspace in results and errors, such as
	// ssh://user@host/srv/app or local:/srv/app.
	Label   string
	Backend string // local, ssh, docker, memory
	OS      string // linux, darwin, windows …; empty if unknown
	Dir     string // absolute working folder
	Root    string // canonical confinement root; empty if not confined
	// Roots are the further folders that may be reached, canonical.
	Roots []Root
	// Confinement says how files are kept inside the roots; empty if they are not.
	Confinement Confinement
	Home        string // the account's home folder; empty if unknown
	// Weaker lists guarantees that do not hold fully here, a sentence each.
	Weaker []string
}
