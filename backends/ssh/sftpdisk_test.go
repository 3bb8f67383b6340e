//go:build linux

package ssh

import (
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"
)

// disk serves the files of this machine as a plain SFTP server does: it renames onto
// nothing that exists and knows no extensions. It notes what a client does.
type disk struct {
	fixed bool // attributes can't be changed

	mu      sync.Mutex
	reading int // files that were opened for more than writing
	open    int // writes to a file that others may read
	removed []string
}

func (d *disk) serve(ch gossh.Channel) {
	_ = sftp.NewRequestServer(ch, sftp.Handlers{FileGet: d, FilePut: d, FileCmd: d, FileList: d}).Serve()
	_ = ch.Close()
}

func (d *disk) note(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// Fileread implements sftp.FileReader.
func (d *disk) Fileread(r *sftp.Request) (io.ReaderAt, error) { return os.Open(r.Filepath) }

// Filewrite implements sftp.FileWriter.
func (d *disk) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	flags, how := r.Pflags(), os.O_WRONLY
	if flags.Read {
		d.note(func() { d.reading++ })
	}
	if flags.Creat {
		how |= os.O_CREATE
	}
	if flags.Excl {
		how |= os.O_EXCL
	}
	if flags.Trunc {
		how |= os.O_TRUNC
	}
	f, err := os.OpenFile(r.Filepath, how, 0o644)
	return diskFile{f, d}, err
}

type diskFile struct {
	*os.File
	disk *disk
}

// WriteAt implements io.WriterAt.
func (f diskFile) WriteAt(p []byte, off int64) (int, error) {
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		f.disk.note(func() { f.disk.open++ })
	}
	return f.File.WriteAt(p, off)
}

// Filecmd implements sftp.FileCmder.
func (d *disk) Filecmd(r *sftp.Request) error {
	switch r.Method {
	case "Setstat":
		switch {
		case d.fixed:
			return sftp.ErrSSHFxPermissionDenied
		case r.AttrFlags().Permissions:
			return os.Chmod(r.Filepath, r.Attributes().FileMode().Perm())
		case r.AttrFlags().Size:
			return os.Truncate(r.Filepath, int64(r.Attributes().Size))
		}
		return nil
	case "Rename":
		if _, err := os.Lstat(r.Target); err == nil {
			return sftp.ErrSSHFxFailure
		}
		return os.Rename(r.Filepath, r.Target)
	case "Remove":
		d.note(func() { d.removed = append(d.removed, r.Filepath) })
		return os.Remove(r.Filepath)
	case "Mkdir":
		return os.Mkdir(r.Filepath, 0o755)
	}
	return sftp.ErrSSHFxOpUnsupported
}

// Filelist implements sftp.FileLister.
func (d *disk) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	if r.Method != "List" {
		info, err := os.Stat(r.Filepath)
		return infos{info}, err
	}
	entries, err := os.ReadDir(r.Filepath)
	var list infos
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, info)
		}
	}
	return list, err
}

// Lstat implements sftp.LstatFileLister.
func (d *disk) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	info, err := os.Lstat(r.Filepath)
	return infos{info}, err
}

// Readlink implements sftp.ReadlinkFileLister.
func (d *disk) Readlink(name string) (string, error) { return os.Readlink(name) }

type infos []fs.FileInfo

// ListAt implements sftp.ListerAt.
func (l infos) ListAt(list []fs.FileInfo, off int64) (int, error) {
	if off >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(list, l[off:])
	if n < len(list) {
		return n, io.EOF
	}
	return n, nil
}
