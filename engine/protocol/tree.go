package protocol

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// PackTree writes the content of the folder dir as a tar stream: files, folders
// and symlinks with their modes and times. Sockets and devices are left out.
func PackTree(w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	tw := tar.NewWriter(w)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreVanished(err)
		}
		if name == "." {
			return nil
		}
		return ignoreVanished(packEntry(tw, root, name))
	})
	if err != nil {
		return fmt.Errorf("pack the folder %s: %w", dir, err)
	}
	return tw.Close()
}

// ignoreVanished lets a tree be packed while programs work in it.
func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func packEntry(tw *tar.Writer, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch {
	case info.Mode().IsRegular():
		return packFile(tw, root, name, h)
	case info.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = root.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	return tw.WriteHeader(h)
}

// packFile takes the size from the open file, and no more than that: a log may
// grow meanwhile.
func packFile(tw *tar.Writer, root *os.Root, name string, h *tar.Header) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.CopyN(tw, f, h.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while it was read: %d of %d bytes", name, n, h.Size)
	}
	return err
}

// UnpackTree writes a tar stream of [PackTree] into the folder dir, which is
// made if need be. Nothing is written outside dir. Entries that would leave it
// are left out; the rest is written, and then an [*Error] with code [Invalid]
// names them.
func UnpackTree(r io.Reader, dir string) (TreeResult, error) { return unpackTree(r, dir, false) }

// RestoreTree is [UnpackTree] of a tree of the machine's own: symlinks lead wherever they
// led when it was saved. Still nothing is written through one out of dir.
func RestoreTree(r io.Reader, dir string) (TreeResult, error) { return unpackTree(r, dir, true) }

func unpackTree(r io.Reader, dir string, links bool) (TreeResult, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return TreeResult{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return TreeResult{}, err
	}
	defer root.Close()
	u := &unpacker{root: root, links: links}
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
			return u.result, fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
	// The sender may pad the archive; the stream must be read to its end.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return u.result, err
	}
	return u.result, u.finish()
}

type unpacker struct {
	root    *os.Root
	links   bool // symlinks may lead out
	result  TreeResult
	dirs    []*tar.Header // their modes and times come last: a folder may be read-only
	refused []string
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	name := path.Clean(h.Name)
	if !fs.ValidPath(name) || (h.Typeflag == tar.TypeSymlink && !u.links && !staysInside(name, h.Linkname)) {
		u.refused = append(u.refused, h.Name)
		return nil
	}
	if name == "." {
		return nil
	}
	err := u.write(name, h, r)
	if isEscape(err) {
		u.refused = append(u.refused, h.Name)
		return nil
	}
	return err
}

func (u *unpacker) write(name string, h *tar.Header, r io.Reader) error {
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		h.Name = name
		u.dirs = append(u.dirs, h)
		return u.mkdir(name)
	case tar.TypeReg:
		return u.file(name, h, r)
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

// mkdir makes a folder that can be written into until finish sets its mode. A
// symlink in its place is replaced, not followed.
func (u *unpacker) mkdir(name string) error {
	info, err := u.root.Lstat(name)
	switch {
	case err != nil:
		return u.root.MkdirAll(name, 0o755)
	case info.IsDir():
		return u.root.Chmod(name, info.Mode().Perm()|0o700)
	}
	if err := u.root.Remove(name); err != nil {
		return err
	}
	return u.root.Mkdir(name, 0o755)
}

// clear makes room for a file or link, but never removes a folder with content.
func (u *unpacker) clear(name string) error {
	if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (u *unpacker) file(name string, h *tar.Header, r io.Reader) error {
	if err := u.clear(name); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, r)
	if err == nil {
		err = f.Chmod(fs.FileMode(h.Mode).Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	u.result.Files++
	u.result.Bytes += n
	return u.times(name, h)
}

func (u *unpacker) times(name string, h *tar.Header) error {
	if h.ModTime.IsZero() {
		return nil
	}
	return u.root.Chtimes(name, time.Time{}, h.ModTime)
}

func (u *unpacker) finish() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		h := u.dirs[i]
		if err := u.times(h.Name, h); err != nil {
			return err
		}
		if err := u.root.Chmod(h.Name, fs.FileMode(h.Mode).Perm()); err != nil {
			return err
		}
	}
	if n := len(u.refused); n > 0 {
		return Errorf(Invalid, "%d entries were left out because they are no plain files or would leave the folder: %s",
			n, strings.Join(u.refused[:min(n, 10)], ", "))
	}
	return nil
}

// staysInside reports whether a link at name, read as text, points into the
// tree.
func staysInside(name, target string) bool {
	if path.IsAbs(target) {
		return false
	}
	joined := path.Join(path.Dir(name), target)
	return joined != ".." && !strings.HasPrefix(joined, "../")
}

// isEscape recognises the refusal of os.Root, which has no exported error.
func isEscape(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes")
}
