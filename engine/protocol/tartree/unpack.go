package tartree

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/protocol"
)

// Unpack writes a tar stream of [Pack] into the folder dir, which is made if need be. Nothing
// is written outside dir, and each file appears as a whole. Entries that would leave dir, or
// take the place of a pipe, a socket or a device, are left out; the rest is written, and then
// an [*protocol.Error] with code [protocol.Invalid] names them. So it is with what the sender
// says it could not read, which is a [*PartialError].
func Unpack(r io.Reader, dir string) (protocol.TreeResult, error) {
	return unpack(r, dir, false, nil, nil)
}

// Restore is [Unpack] of a tree of the machine's own: symlinks lead wherever they
// led when it was saved, and what was saved takes the place of whatever is there but a
// folder with content. Still nothing is written through a link out of dir.
func Restore(r io.Reader, dir string) (protocol.TreeResult, error) {
	return unpack(r, dir, true, nil, nil)
}

// UnpackCounted is [Unpack] that calls count, unless it is nil, for each piece of a file with how
// many bytes it has. With rename, each file and folder gets the name that rename returns for
// its own; different names must stay different.
func UnpackCounted(r io.Reader, dir string, count func(int64), rename func(string) string) (protocol.TreeResult, error) {
	return unpack(r, dir, false, count, rename)
}

func unpack(r io.Reader, dir string, links bool, count func(int64), rename func(string) string) (protocol.TreeResult, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return protocol.TreeResult{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return protocol.TreeResult{}, err
	}
	defer root.Close()
	u := &unpacker{root: root, links: links, count: count, rename: rename, buf: make([]byte, treeBuffer)}
	defer u.leave()
	r = bufio.NewReaderSize(r, treeBuffer)
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return u.result, fmt.Errorf("the tar stream is damaged: %w", err)
		}
		if err := u.entry(h, tr); err != nil {
			return u.result, fmt.Errorf("unpack %s: %w", shownName(h.Name), BrokenOff(err))
		}
	}
	// The sender may pad the archive; the stream must be read to its end.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return u.result, err
	}
	return u.result, u.finish()
}

// treeBuffer makes few reads of a stream that comes through sockets in small pieces.
const treeBuffer = 256 << 10

type unpacker struct {
	buf     []byte
	root    *os.Root
	at      *os.Root // the folder of the last file, nil if it may not be there any more
	dir     string   // its path
	links   bool     // symlinks may lead out
	count   func(int64)
	rename  func(string) string // of each part of a path; nil = none
	result  protocol.TreeResult
	dirs    []*tar.Header // their modes and times come last: a folder may be read-only
	refused []string
	kept    string // what was a folder in the stream and is none here, "" = nothing yet
	unread  Unread // what the sender could not read
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		u.unread.parse(h)
		return nil
	}
	name := path.Clean(h.Name)
	if !fs.ValidPath(name) || tooLong(name) || (h.Typeflag == tar.TypeSymlink && !u.links && !u.staysInside(name, h.Linkname)) {
		u.refused = append(u.refused, h.Name)
		return nil
	}
	if name == "." {
		return nil
	}
	err := u.write(renamed(u.rename, name), h, r)
	if plainfile.Escapes(err) || errors.Is(err, errKept) {
		u.refused = append(u.refused, h.Name)
		return nil
	}
	return err
}

func (u *unpacker) write(name string, h *tar.Header, r io.Reader) error {
	if u.below(name) {
		return errKept
	}
	if h.Typeflag == tar.TypeReg {
		return u.file(name, h, r)
	}
	u.leave()
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := u.mkdir(name); err != nil {
			return err
		}
		h.Name = name
		u.dirs = append(u.dirs, h)
		return nil
	case tar.TypeSymlink:
		if err := u.clear(name); err != nil {
			return err
		}
		u.result.Files++
		return u.root.Symlink(h.Linkname, name)
	}
	u.refused = append(u.refused, h.Name)
	return nil
}

// enter opens the folder dir and keeps it open: the files of a folder come one after the
// other, and each way from the top costs system calls for every level.
func (u *unpacker) enter(dir string) (*os.Root, error) {
	if u.at != nil && u.dir == dir {
		return u.at, nil
	}
	u.leave()
	if err := u.root.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	at, err := u.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	u.at, u.dir = at, dir
	return at, nil
}

func (u *unpacker) leave() {
	if u.at != nil {
		_ = u.at.Close()
		u.at = nil
	}
}

// file writes beside the target and renames: a stream that is cut leaves what was there,
// and nothing half.
func (u *unpacker) file(name string, h *tar.Header, r io.Reader) (err error) {
	at, err := u.enter(path.Dir(name))
	if err != nil {
		return err
	}
	base, part := path.Base(name), protocol.NewID(".seer-")
	f, err := at.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = at.Remove(part)
		}
	}()
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{Counting(r, u.count)}, u.buf)
	if err == nil {
		err = f.Chmod(fs.FileMode(h.Mode).Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err = u.free(at, base); err != nil {
		return err
	}
	if err = at.Rename(part, base); errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.EISDIR) {
		if err = at.Remove(base); err == nil { // a folder without content
			err = at.Rename(part, base)
		}
	}
	if err != nil {
		return err
	}
	u.result.Files++
	u.result.Bytes += n
	return setTimes(at, base, h)
}

func setTimes(root *os.Root, name string, h *tar.Header) error {
	if h.ModTime.IsZero() {
		return nil
	}
	return root.Chtimes(name, time.Time{}, h.ModTime)
}

func (u *unpacker) finish() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		h := u.dirs[i]
		if err := setTimes(u.root, h.Name, h); err != nil {
			return err
		}
		if err := u.root.Chmod(h.Name, fs.FileMode(h.Mode).Perm()); err != nil {
			return err
		}
	}
	if n := len(u.refused); n > 0 {
		return protocol.Errorf(protocol.Invalid, "%d entries were left out because they are not plain files, would leave the folder, or would take the place of a pipe, a socket or a device: %s",
			n, shownNames(u.refused))
	}
	if u.links { // nobody misses what was not saved
		return nil
	}
	return u.unread.Err()
}

// BrokenOff says what the end of a stream within a file means.
func BrokenOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the stream broke off: the connection was cut, or the file became shorter while it was read: %w", err)
	}
	return err
}

// tooLong reports names that no program could open by their path. Deep ones also take
// long to make: each level is looked up from the top.
func tooLong(name string) bool {
	return len(name) > 4000 || strings.Count(name, "/") > 250
}

// staysInside reports whether a link at name leads into the tree, whatever other links
// are in it: name is below folders only, and target goes up before it goes down, so that
// it goes up from nowhere else.
func (u *unpacker) staysInside(name, target string) bool {
	if path.IsAbs(target) || !u.belowFolders(name) {
		return false
	}
	up, down := 0, false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == "" || part == ".":
		case part != "..":
			down = true
		case down:
			return false
		default:
			up++
		}
	}
	return up <= strings.Count(name, "/")
}

// belowFolders reports whether no folder above name is a link.
func (u *unpacker) belowFolders(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := u.root.Lstat(dir); err == nil && !info.IsDir() {
			return false
		}
	}
	return true
}
