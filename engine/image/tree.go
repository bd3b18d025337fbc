package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/ctxio"
)

// tree is a root file system that is being unpacked. Every path goes through an os.Root,
// and links in it are followed as its own programs would: the tree's / is the highest.
type tree struct {
	root    *os.Root
	overlay bool // whiteouts are character devices 0,0, too

	left         int64 // how many bytes may still come
	bytes, files int64
	skipped      map[string]int // kind of file → how many were left out

	made  map[string]bool      // what this layer has put there
	white map[string]bool      // where this layer has a whiteout that is a device
	times map[string]time.Time // of this layer's folders, set when all is in them

	last struct { // the folder of the entry before
		asked, found string
		root         *os.Root
	}
}

func openTree(dir string, maxBytes int64) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, left: maxBytes, skipped: map[string]int{}}, nil
}

func (t *tree) close() {
	t.forget()
	_ = t.root.Close()
}

// apply unpacks one layer, compressed or not, upon what is there.
func (t *tree) apply(ctx context.Context, layer io.Reader) error {
	plain, done, err := decompress(ctxio.Reader(ctx, layer))
	if err != nil {
		return err
	}
	defer done()
	t.made, t.white, t.times = map[string]bool{}, map[string]bool{}, map[string]time.Time{}
	r := tar.NewReader(plain)
	for {
		hdr, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t.finish()
		}
		if err == nil {
			err = t.entry(hdr, r)
		}
		if err != nil {
			return explainEntry(ctx, hdr, err)
		}
	}
}

func explainEntry(ctx context.Context, hdr *tar.Header, err error) error {
	var unread *sourceError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case hdr == nil, errors.As(err, &unread):
		return damaged(err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, tar.ErrHeader):
		return invalid("the layer is damaged at %q: %v", hdr.Name, err)
	}
	return fmt.Errorf("%q: %w", hdr.Name, err)
}

// finish gives folders the times that the layer says.
func (t *tree) finish() error {
	for dir, at := range t.times {
		if err := t.root.Chtimes(dir, at, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (t *tree) entry(hdr *tar.Header, r io.Reader) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := local(hdr.Name)
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	if base := path.Base(name); strings.HasPrefix(base, ".wh.") {
		return t.ociWhiteout(name, base)
	}
	if t.overlay && t.isDeviceWhiteout(hdr, name) {
		return t.whiteout(name)
	}
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeGNUSparse:
		return t.put(hdr, name, r)
	case tar.TypeChar, tar.TypeBlock:
		t.skipped["device"]++
	case tar.TypeFifo:
		t.skipped["pipe"]++
	default:
		t.skipped["unknown kind of file"]++
	}
	return nil
}

// put makes a file, folder or link in the place of what was there.
func (t *tree) put(hdr *tar.Header, name string, r io.Reader) error {
	in, dir, err := t.parent(path.Dir(name), true)
	if err != nil {
		return err
	}
	base := path.Base(name)
	full := path.Join(dir, base)
	if hdr.Typeflag == tar.TypeDir {
		return t.folder(hdr, in, base, full)
	}
	if hdr.Typeflag == tar.TypeLink {
		return t.hardLink(hdr, in, base, full)
	}
	if err := t.clear(in, base); err != nil {
		return err
	}
	t.made[full] = true
	t.files++
	if hdr.Typeflag == tar.TypeSymlink {
		return in.Symlink(hdr.Linkname, base)
	}
	return t.file(hdr, in, base, r)
}

func (t *tree) file(hdr *tar.Header, in *os.Root, base string, r io.Reader) error {
	if hdr.Size > t.left {
		return invalid("the image unpacks to more than is accepted")
	}
	t.left -= hdr.Size
	t.bytes += hdr.Size
	f, err := in.OpenFile(base, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	// Set-user bits would be ours, and what is unreadable for us could not be shared.
	err = errors.Join(err, f.Chmod(fs.FileMode(hdr.Mode)&0o777|0o400), f.Close())
	if err == nil && !hdr.ModTime.IsZero() {
		err = in.Chtimes(base, hdr.ModTime, hdr.ModTime) // Python checks its compiled files by it
	}
	return err
}

func (t *tree) folder(hdr *tar.Header, in *os.Root, base, full string) error {
	if info, err := in.Lstat(base); err != nil || !info.IsDir() {
		if err := t.clear(in, base); err != nil {
			return err
		}
		if err := in.Mkdir(base, 0o700); err != nil {
			return err
		}
		t.made[full] = true
	} else if t.overlay && hdr.PAXRecords["SCHILY.xattr.trusted.overlay.opaque"] == "y" {
		if err := t.cutInside(full); err != nil {
			return err
		}
	}
	mode := fs.FileMode(hdr.Mode)&0o777 | 0o700
	if hdr.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	t.times[full] = hdr.ModTime
	return in.Chmod(base, mode)
}

func (t *tree) hardLink(hdr *tar.Header, in *os.Root, base, full string) error {
	target, err := local(hdr.Linkname)
	if err != nil {
		return err
	}
	dir, err := t.find(path.Dir(target), false)
	if err != nil {
		return invalid("a hard link leads to %q, which is not there", hdr.Linkname)
	}
	from := path.Join(dir, path.Base(target))
	if from == full {
		return nil
	}
	if info, err := t.root.Lstat(from); err != nil || info.IsDir() {
		return invalid("a hard link leads to %q, which is not a file", hdr.Linkname)
	}
	if err := t.clear(in, base); err != nil {
		return err
	}
	t.made[full] = true
	t.files++
	return t.root.Link(from, full)
}

// clear removes what is in the way; a file that is shared with another root is never
// written to.
func (t *tree) clear(in *os.Root, base string) error {
	info, err := in.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		t.forgetLater()
		return in.RemoveAll(base)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		t.forgetLater()
	}
	return in.Remove(base)
}

// local makes a name of an archive a path below the root.
func local(name string) (string, error) {
	clean := strings.TrimLeft(name, "/")
	if clean == "" {
		return ".", nil
	}
	if !filepath.IsLocal(clean) || strings.Contains(clean, "\x00") {
		return "", invalid("the name %q leads out of the image", name)
	}
	return path.Clean(clean), nil
}
