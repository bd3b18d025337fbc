package hubcache

import (
	"context"
	sha2 "crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/sdk"
)

// viewPath is where a view is, or a link to it.
func (c Cache) viewPath(name, view string) string {
	return filepath.Join(c.Own, Source, url.PathEscape(name), view)
}

// viewName is the name of the view of a commit, or of a part of its files.
func viewName(commit, part string) string {
	if part == "" {
		return commit
	}
	return commit + "," + part
}

func (j *job) inView(f sdk.ModelFile) string {
	return filepath.Join(j.view, filepath.FromSlash(f.Path))
}

// viewReady reports whether the view has all files, and the Hub's cache as well. One that
// cannot be written need not have them any more.
func (j *job) viewReady(ctx context.Context) (bool, error) {
	stamps, ok := j.stamps()
	if !ok {
		return false, nil
	}
	if !j.notes().haveView(j.view, stamps) {
		for _, f := range j.Files {
			found, err := j.notes().look(ctx, blobName(f), f.Size, j.inView(f))
			if err != nil || found != right {
				return false, err
			}
		}
		if err := j.notes().rememberView(j.view, stamps); err != nil {
			return false, err
		}
	}
	if !j.published() {
		return !canWrite(filepath.Join(j.repo, "blobs")), nil
	}
	_ = j.writeRef() // of a cache that cannot be written, it is not needed
	return true, nil
}

// stamps is one hash of what all files of the view are and of their stamps. It is not ok if one
// is missing, or has another size.
func (j *job) stamps() (sum string, ok bool) {
	h := sha2.New()
	for _, f := range j.Files {
		s, regular, err := stampBy(unix.Lstat, j.inView(f))
		if err != nil || !regular || s.size != f.Size {
			return "", false
		}
		fmt.Fprintf(h, "%q %s %x %x %s", f.Path, blobName(f), s.dev, s.inode, s.text())
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

// published reports whether the snapshot in the Hub's cache has all files.
func (j *job) published() bool {
	for _, f := range j.Files {
		if unix.Access(filepath.Join(j.repo, "snapshots", j.Commit, filepath.FromSlash(f.Path)), unix.F_OK) != nil {
			return false
		}
	}
	return true
}

// makeView links all files into the view: in the engine's cache, or else in the repository's
// folder. It copies those that cannot be linked.
func (j *job) makeView(ctx context.Context) error {
	info, err := os.Lstat(j.view)
	elsewhere := err == nil && !info.IsDir()
	if elsewhere {
		if err := os.Remove(j.view); err != nil {
			return err
		}
	}
	fresh := err != nil || elsewhere // a folder may be in use by a machine
	err = j.linkAll(ctx, j.view, j.partial(), false)
	if !cannotLink(err) {
		return err
	}
	inside := filepath.Join(j.repo, ".seer", filepath.Base(j.view))
	if fresh && j.writable {
		if err := j.linkAll(ctx, inside, filepath.Dir(inside), false); !cannotLink(err) {
			return errors.Join(err, j.pointTo(inside))
		}
	}
	return j.linkAll(ctx, j.view, j.partial(), true)
}

// pointTo makes a link to a view that lies elsewhere.
func (j *job) pointTo(dir string) error {
	if err := os.RemoveAll(j.view); err != nil {
		return err
	}
	return os.Symlink(dir, j.view)
}

// linkAll makes dir hold all files, beside what earlier requests have put there. Working
// names are in spares, on the same file system.
func (j *job) linkAll(ctx context.Context, dir, spares string, copying bool) error {
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(spares, 0o700)); err != nil {
		return err
	}
	var copied int64
	for _, f := range j.Files {
		source, path := j.blobs[blobName(f)].at, filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		err := j.hardLink(source, path, spare(spares))
		if cannotLink(err) && copying {
			found, lookErr := j.notes().look(ctx, blobName(f), f.Size, path)
			if err = lookErr; err == nil && found != right {
				copied += f.Size
				err = copyFile(source, path, spare(spares))
			}
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	if copied > 0 {
		j.Notify(Notice{Kind: Copied, Path: j.Dir, Bytes: copied})
	}
	return nil
}

// hardLink makes path another name of the file that source leads to. What is at path is
// replaced in one step, by way of the name spare.
func (c Cache) hardLink(source, path, spare string) error {
	link := os.Link
	switch {
	case c.link != nil:
		link = c.link
	case c.Symbolic:
		link = os.Symlink
	}
	info, err := os.Lstat(source)
	if err == nil && !info.Mode().IsRegular() {
		source, err = filepath.EvalSymlinks(source)
	}
	if err != nil {
		return err
	}
	info, err = os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && same(source, path) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return link(source, path)
	}
	if err := link(source, spare); err != nil {
		return err
	}
	if err := os.Rename(spare, path); err != nil {
		return errors.Join(err, os.Remove(spare))
	}
	return nil
}

// cannotLink reports whether a file cannot have a name in some folder: it is on another file
// system, one without hard links, or somebody else's.
func cannotLink(err error) bool {
	for _, reason := range []error{syscall.EXDEV, syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.EMLINK, syscall.ENOTSUP, syscall.ENOSYS} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// copyFile makes path a copy of source, in one step.
func copyFile(source, path, spare string) (err error) {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(spare, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err == nil {
		err = os.Rename(spare, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", source, err), os.Remove(spare))
	}
	return nil
}
