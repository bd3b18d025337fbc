package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/remedy"
)

// unfinished begins the name of the hidden folder in which a new plugin is made.
const unfinished = ".new-plugin-"

// write puts everything into a hidden folder first, whose content then moves to dir:
// what fails or is stopped on the way leaves nothing.
func write(ctx context.Context, dir string, files map[string][]byte, source string) (err error) {
	existed, err := vacant(dir)
	if err != nil {
		return err
	}
	parent := dir // the folder of the user is kept: a shell may be in it
	if !existed {
		parent = filepath.Dir(dir)
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(parent, unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := copySDK(ctx, source, filepath.Join(tmp, filepath.FromSlash(sdkFolder))); err != nil {
		return fmt.Errorf("copying the SDK: %w", err)
	}
	for name, data := range files {
		if err := put(filepath.Join(tmp, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !existed {
		return os.Rename(tmp, dir)
	}
	return move(tmp, dir)
}

func put(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// move moves what is in a folder to another, all or nothing.
func move(from, to string) (err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var moved []string
	defer func() {
		for _, path := range moved {
			if err != nil {
				_ = os.RemoveAll(path) // it is ours: the folder was empty
			}
		}
	}()
	for _, e := range entries {
		target := filepath.Join(to, e.Name())
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s has appeared meanwhile; try again in an empty folder", target)
		}
		if err := os.Rename(filepath.Join(from, e.Name()), target); err != nil {
			return err
		}
		moved = append(moved, target)
	}
	return nil
}

// vacant refuses a folder that has something in it, and reports whether it exists. What is left there
// of a program that was killed is removed: the same command would be refused otherwise.
func vacant(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), unfinished) {
			return true, notEmpty(dir)
		}
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return true, err
		}
	}
	return true, nil
}

// notEmpty is a folder that was to be a new plugin's; it is an [fs.ErrExist].
type notEmpty string

func (e notEmpty) Error() string {
	return string(e) + " is not empty; say where else the new plugin goes"
}

// Remedy implements [remedy.Carrier].
func (e notEmpty) Remedy() []remedy.Remedy { return []remedy.Remedy{{Action: remedy.ChooseFolder}} }

func (e notEmpty) Is(target error) bool { return target == fs.ErrExist }
