package plainfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// ErrFolder is the error for a name where a file is to be written and a folder is.
var ErrFolder = errors.New("it is a folder where Seer would write a file; move it, or choose another folder")

// Create makes a new file and gives it the name, in the place of whatever has it but a
// folder. So nothing is written through a link, or into a file that has a second name
// elsewhere, or to a pipe or a device.
func Create(root *os.Root, name string, mode fs.FileMode) (*os.File, error) {
	f, tmp, err := temporary(root, name, mode)
	if err == nil {
		err = put(root, tmp, name)
	}
	if err != nil && f != nil {
		f.Close()
		return nil, err
	}
	return f, err
}

// Write is [Create] for a file whose content is known: readers see the old one or the new
// one as a whole.
func Write(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, tmp, err := temporary(root, name, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(tmp) // the first error is the one to tell
		return err
	}
	return put(root, tmp, name)
}

// temporary makes a file that nobody else can have made.
func temporary(root *os.Root, name string, mode fs.FileMode) (*os.File, string, error) {
	tmp := path.Join(path.Dir(name), ".seer-new-"+rand.Text())
	f, err := root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	return f, tmp, err
}

// put gives a file the name that it is made for.
func put(root *os.Root, tmp, name string) error {
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "write", Path: path.Join(root.Name(), name), Err: ErrFolder}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp) // the first error is the one to tell
	}
	return err
}
