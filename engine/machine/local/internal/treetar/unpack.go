package treetar

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Unpack fills a folder with what [Pack] has written, or what a store has given
// out of it. Nothing leads out of the folder, whatever the file says.
func Unpack(ctx context.Context, file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := unpacking{root: root, buf: make([]byte, 256<<10)}
	defer u.leave()
	r := tar.NewReader(bufio.NewReaderSize(in, 1<<20))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.finish()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = u.entry(h, r)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	}
}

// unpacking is one tree on its way into a folder. A folder stays open while what comes is
// in it: each way from the top costs system calls for every level.
type unpacking struct {
	root *os.Root
	at   *os.Root // nil = none
	dir  string   // path of at
	dirs []*tar.Header
	buf  []byte
}

func (u *unpacking) enter(dir string) (*os.Root, error) {
	if dir == "." {
		return u.root, nil
	}
	if u.at != nil && u.dir == dir {
		return u.at, nil
	}
	u.leave()
	at, err := u.root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = u.root.MkdirAll(dir, 0o700); err == nil {
			at, err = u.root.OpenRoot(dir)
		}
	}
	if err == nil {
		u.at, u.dir = at, dir
	}
	return at, err
}

func (u *unpacking) leave() {
	if u.at != nil {
		_ = u.at.Close()
		u.at = nil
	}
}

func (u *unpacking) entry(h *tar.Header, r io.Reader) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(h.Name) {
		return sdk.Errorf(sdk.Invalid, "%.200q leads out of the folder", h.Name)
	}
	if h.Typeflag == tar.TypeLink {
		return u.root.Link(h.Linkname, name)
	}
	at, err := u.enter(path.Dir(name))
	if err != nil {
		return err
	}
	base := path.Base(name)
	switch h.Typeflag {
	case tar.TypeDir:
		u.dirs = append(u.dirs, h)
		if err := at.Mkdir(base, 0o700); err != nil && !isDir(at, base) {
			return err
		}
		return giveTo(at, base, h)
	case tar.TypeSymlink:
		if err := at.Symlink(h.Linkname, base); err != nil {
			return err
		}
		return giveTo(at, base, h)
	case tar.TypeReg:
		return u.file(at, base, h, r)
	}
	return nil
}

func isDir(at *os.Root, name string) bool {
	info, err := at.Lstat(name)
	return err == nil && info.IsDir()
}

func (u *unpacking) file(at *os.Root, name string, h *tar.Header, r io.Reader) error {
	f, err := at.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, r, u.buf)
	if err == nil && givesTo(h) {
		err = f.Chown(h.Uid, h.Gid)
	}
	if mode := plainMode(h); err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return at.Chtimes(name, time.Time{}, h.ModTime)
}

// finish gives the folders their modes and times: what is put into one changes its time,
// and one may be read-only.
func (u *unpacking) finish() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		h := u.dirs[i]
		name := path.Clean(h.Name)
		at, err := u.enter(path.Dir(name))
		if err != nil {
			return err
		}
		base := path.Base(name)
		if err := errors.Join(at.Chmod(base, plainMode(h)), at.Chtimes(base, h.ModTime, h.ModTime)); err != nil {
			return err
		}
	}
	return nil
}

// plainMode is the mode of an entry without the bits that give whoever runs the file the
// rights of its owner: the folder is one of this computer.
func plainMode(h *tar.Header) fs.FileMode {
	return h.FileInfo().Mode() &^ (fs.ModeSetuid | fs.ModeSetgid)
}

// givesTo reports whether an entry has another owner than what this program makes, and may
// be given to it.
func givesTo(h *tar.Header) bool {
	return os.Geteuid() == 0 && (h.Uid != 0 || h.Gid != os.Getegid())
}

func giveTo(at *os.Root, name string, h *tar.Header) error {
	if !givesTo(h) {
		return nil
	}
	return at.Lchown(name, h.Uid, h.Gid)
}
