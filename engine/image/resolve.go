package image

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const maxLinks = 40 // as many as Linux follows

// parent opens the folder that a path means, and keeps it: most entries of an archive
// are in the folder of the one before.
func (t *tree) parent(dir string, create bool) (*os.Root, string, error) {
	if t.last.root != nil && t.last.asked == dir {
		return t.last.root, t.last.found, nil
	}
	found, err := t.find(dir, create)
	if err != nil {
		return nil, "", err
	}
	root, err := t.root.OpenRoot(found)
	if err != nil {
		return nil, "", err
	}
	t.forget()
	t.last.asked, t.last.found, t.last.root = dir, found, root
	return root, found, nil
}

func (t *tree) forget() {
	if t.last.root != nil {
		_ = t.last.root.Close()
	}
	t.last.root = nil
}

// forgetLater is for who still uses the folder: the next entry looks again.
func (t *tree) forgetLater() { t.last.asked = "\x00" }

// find resolves a folder inside the tree, and makes what is missing if it is asked to.
func (t *tree) find(dir string, create bool) (string, error) {
	found, err := walk(t.root, dir, func(missing string) error {
		if !create {
			return fs.ErrNotExist
		}
		t.made[missing] = true
		return errors.Join(t.root.Mkdir(missing, 0o755), t.root.Chmod(missing, 0o755))
	})
	if err != nil {
		return "", err
	}
	info, err := t.root.Lstat(found)
	if err == nil && !info.IsDir() {
		return "", invalid("it is below %q, which is not a folder", found)
	}
	return found, err
}

// walk follows a path in a tree, whose links cannot lead above it, and returns where it
// ends, "." being the tree itself. It asks about what is missing.
func walk(root *os.Root, name string, missing func(at string) error) (string, error) {
	at, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		step := rest[0]
		rest = rest[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, step)
		info, err := root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := missing(next); err != nil {
				return "", err
			}
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", invalid("%q leads through too many links", name)
			}
			target, err := root.Readlink(next)
			if err != nil {
				return "", err
			}
			if path.IsAbs(target) {
				at = "."
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		case !info.IsDir() && len(rest) > 0:
			return "", invalid("it is below %q, which is not a folder", next)
		}
		at = next
	}
	return at, nil
}

func resolveIn(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	at, err := walk(root, name, func(string) error { return fs.ErrNotExist })
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.FromSlash(at)), nil
}
