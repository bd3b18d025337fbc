package tartree

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// errKept says that something is in the way that nothing of a tree replaces.
var errKept = errors.New("a pipe, a socket or a device is there")

// keeps reports whether what is there stays: programs have pipes, sockets and devices open.
// A tree of the machine's own replaces them.
func (u *unpacker) keeps(info fs.FileInfo) bool {
	return !u.links && info.Mode().Type()&^(fs.ModeDir|fs.ModeSymlink) != 0
}

// free is [errKept] where what is at name in the folder at stays.
func (u *unpacker) free(at *os.Root, name string) error {
	if info, err := at.Lstat(name); err == nil && u.keeps(info) {
		return errKept
	}
	return nil
}

// below reports whether name is in a folder of the stream that was not made. What is in it
// follows it.
func (u *unpacker) below(name string) bool {
	return u.kept != "" && strings.HasPrefix(name, u.kept+"/")
}

// mkdir makes a folder that can be written into until finish sets its mode. A
// symlink in its place is replaced, not followed.
func (u *unpacker) mkdir(name string) error {
	info, err := u.root.Lstat(name)
	switch {
	case err != nil:
		return u.root.MkdirAll(name, 0o755)
	case info.IsDir():
		return u.root.Chmod(name, info.Mode().Perm()|0o700)
	case u.keeps(info):
		u.kept = name
		return errKept
	}
	if err := u.root.Remove(name); err != nil {
		return err
	}
	return u.root.Mkdir(name, 0o755)
}

// clear makes room for a link, but never removes a folder with content.
func (u *unpacker) clear(name string) error {
	if err := u.free(u.root, name); err != nil {
		return err
	}
	if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// renamed is a path with all its parts renamed.
func renamed(rename func(string) string, name string) string {
	if rename == nil || name == "." {
		return name
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = rename(part)
	}
	return strings.Join(parts, "/")
}
