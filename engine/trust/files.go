package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// wholeFile is the largest file whose content decides a digest. A larger one is known by
// its place on the disk and the time of its last change, which nobody can set back.
const wholeFile = 16 << 20

// Real is the path after all symbolic links. Parts that do not exist stay as they are.
func Real(path string) string {
	path = filepath.Clean(path)
	for range 40 { // links that lead nowhere, each to the next
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Real(parent), filepath.Base(path))
}

// Digest is another text for other files: names, contents, permissions. Folders count
// with all that is in them, except .git. A path that does not exist counts as such.
func Digest(ctx context.Context, texts [][]byte, paths []string) (string, error) {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "text %d\n%s\n", len(text), text)
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	for _, root := range paths {
		if err := digestTree(ctx, sum, root); err != nil {
			return "", fmt.Errorf("read %s: %w", root, err)
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// Places is another text once a file in a folder, or the folder, has been changed, replaced,
// made or removed. It reads no contents: files are known by where they lie on the disk, by
// size and by time of change, which nobody can set back.
func Places(ctx context.Context, folder string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		info, err := os.Stat(path) // where a link leads
		if err != nil {
			info, err = d.Info()
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "file %q %s\n", path, info.Mode())
		return place(sum, info)
	})
	return "places:" + hex.EncodeToString(sum.Sum(nil)), err
}

func digestTree(ctx context.Context, sum hash.Hash, root string) error {
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(sum, "none %q\n", root)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "root %q %q\n", root, real)
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		return digestFile(sum, path)
	})
}

// digestFile opens nothing but regular files: a pipe has no end.
func digestFile(sum hash.Hash, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "file %q %s\n", path, info.Mode())
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		fmt.Fprintf(sum, "to %q\n", target)
		return err
	case !info.Mode().IsRegular():
		return nil
	case info.Size() > wholeFile:
		return place(sum, info)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(sum, "size %d\n", info.Size())
	n, err := io.Copy(sum, io.LimitReader(f, info.Size()))
	if err == nil && n != info.Size() {
		err = errors.New("it changes while it is read; try again")
	}
	return err
}

// place writes where a file lies, and when it was changed.
func place(sum hash.Hash, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("cannot tell where %s lies", info.Name())
	}
	at := changed(st)
	fmt.Fprintf(sum, "at %d %d %d %d %d\n", st.Dev, st.Ino, st.Size, at.Sec, at.Nsec)
	return nil
}
