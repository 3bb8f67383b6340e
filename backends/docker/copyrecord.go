package docker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// copyRecord is what a copy of a folder in a sandbox was made of. It is on disk as long
// as its changes are not kept: if this process is killed, Collect keeps them.
type copyRecord struct {
	Host   string // the daemon
	Folder string // of this machine
	Dir    string // of the copy, in the container
	Image  string
	Base   manifest // what was copied in
}

// copyList is the file of a record, in the folder in which the changes will be.
const copyList = "copy.json"

// write puts the record into a folder, which is made.
func (c copyRecord) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	part := filepath.Join(dir, copyList+".part")
	return errors.Join(os.WriteFile(part, text, 0o600), os.Rename(part, filepath.Join(dir, copyList)))
}

// readCopyRecord reads the record in a folder. One that is not there is an error which
// is fs.ErrNotExist.
func readCopyRecord(dir string) (c copyRecord, err error) {
	err = readJSON(filepath.Join(dir, copyList), &c)
	return c, err
}

// copyRecords returns the names of the sandboxes at a daemon of which a folder has
// records.
func copyRecords(dir, host string) (names []string) {
	list, _ := os.ReadDir(dir) // without a folder there are none
	for _, e := range list {
		if c, err := readCopyRecord(filepath.Join(dir, e.Name())); err == nil && c.Host == host {
			names = append(names, e.Name())
		}
	}
	return names
}

// removeCopyRecord removes a record, and its folder unless that holds changes.
func removeCopyRecord(dir string) {
	if _, err := os.Stat(filepath.Join(dir, changeList)); errors.Is(err, fs.ErrNotExist) {
		_ = os.RemoveAll(dir) // the next time then
		return
	}
	_ = os.Remove(filepath.Join(dir, copyList)) // it may have gone
}
