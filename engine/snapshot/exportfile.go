package snapshot

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/sdk"
)

// ExportFile writes a snapshot as the file path, which it replaces. The file appears as a
// whole, and whatever ends the program before, nothing of it stays: where the file system
// can do that, it has no name until then. What is written goes through the writer that
// through makes, to tell how far it is; nil = as it is.
func (s *Store) ExportFile(ctx context.Context, ref, path string, through func(io.Writer) io.Writer) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return sdk.Errorf(sdk.Invalid, "%s is there and no file, so none takes its place; standard output is called -", path)
	}
	dir := filepath.Dir(path)
	f, err := newNameless(dir)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "%s cannot be written: %v", path, err)
	}
	defer f.discard()
	var w io.Writer = f.File
	if through != nil {
		w = through(w)
	}
	if err := s.Export(ctx, ref, w); err != nil {
		return full(dir, err)
	}
	return full(dir, f.publish(path))
}

// nameless is a file that is being written and has no name yet, or a hidden one where that
// cannot be.
type nameless struct {
	*os.File
	dir  string
	name string // "" = it has none
}

func newNameless(dir string) (*nameless, error) {
	if f, err := openNameless(dir); err == nil {
		return &nameless{File: f, dir: dir}, nil
	}
	f, err := os.CreateTemp(dir, hidden)
	if err != nil {
		return nil, err
	}
	return &nameless{File: f, dir: dir, name: f.Name()}, nil
}

// hidden is the pattern of the names that a file may have for a moment.
const hidden = ".seer-*"

// publish gives it its name.
func (f *nameless) publish(path string) error {
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	if f.name == "" {
		name, err := f.link()
		if err != nil {
			return err
		}
		f.name = name
	}
	if err := os.Rename(f.name, path); err != nil {
		return err
	}
	f.name = ""
	return nil
}

// link gives it a hidden name, for no link replaces a file.
func (f *nameless) link() (string, error) {
	free, err := os.CreateTemp(f.dir, hidden)
	if err != nil {
		return "", err
	}
	name := free.Name()
	return name, errors.Join(free.Close(), os.Remove(name), linkNameless(f.File, name))
}

// discard removes what was not published.
func (f *nameless) discard() {
	_ = f.Close()
	if f.name != "" {
		_ = os.Remove(f.name)
	}
}
