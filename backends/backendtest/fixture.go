package backendtest

import "io/fs"

// Fixture makes and inspects things on the target without the backend. Paths
// are absolute on the target; it must reach the workspace's folder and its
// siblings. It is safe for concurrent use.
type Fixture interface {
	Files
	Makers
	Processes
}

// Files reads and changes files.
type Files interface {
	// PutFile writes a file with exactly this mode, making the folders above it.
	PutFile(path string, data []byte, mode fs.FileMode) error
	GetFile(path string) ([]byte, error)
	Lstat(path string) (fs.FileInfo, error)
	// Names lists a folder in no particular order.
	Names(dir string) ([]string, error)
	Remove(path string) error
	Chmod(path string, mode fs.FileMode) error
}

// Makers makes what is not a plain file.
type Makers interface {
	// Mkdir makes a folder and those above it.
	Mkdir(path string, mode fs.FileMode) error
	// Symlink makes a link at path; target is its text.
	Symlink(target, path string) error
	// Link makes path another name of the file old.
	Link(old, path string) error
	Mkfifo(path string) error
}

// Processes looks at what runs on the target.
type Processes interface {
	// ProcessesWith counts the processes that have arg as a whole argument,
	// zombies left out.
	ProcessesWith(arg string) (int, error)
}
