package pipconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// maxFile is the size of the largest file that a variable of pip may name.
const maxFile = 1 << 20

// file is a file or folder that a variable of pip names, and that is a part of a
// layer's identity. Somebody may change it after it was read, so builds see a copy of what
// was read, or a folder that has not changed.
type file struct {
	name   string // the variable
	path   string
	inside string // where a build sees it
	within string // the experiment's folder, which it must not lead out of; empty = it is the user's

	data   []byte // of a file
	places string // of the files of a folder
}

// read returns what identifies the file or folder, and keeps it.
func (f *file) read(info fs.FileInfo) (text string, err error) {
	if info.IsDir() {
		f.places, err = trust.Places(context.Background(), f.path)
		return f.places, err
	}
	folder := f.within
	if folder == "" {
		folder = filepath.Dir(f.path)
	}
	root, name, err := f.open(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if f.data, err = plainfile.Read(root, name, maxFile); err != nil {
		return "", err
	}
	if !utf8.Valid(f.data) {
		return fmt.Sprintf("%q", f.data), nil // JSON has no such text
	}
	return string(f.data), nil
}

// open opens the folder that the path must not lead out of, and gives the path below it.
func (f *file) open(folder string) (*os.Root, string, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, "", err
	}
	path, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return nil, "", err
	}
	if f.within == "" { // a link of the user's leads wherever it leads
		folder = filepath.Dir(path)
	}
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(folder)
	return root, name, err
}

// Show copies what the settings name into a private folder, and gives the mounts of a
// machine that builds. Done removes the folder. It fails if a folder has changed since it
// was read, also while the machine was there.
func (s *Settings) Show(ctx context.Context, private func() (dir string, remove func() error, err error)) (mounts []sdk.Mount, done func() error, err error) {
	if len(s.files) == 0 {
		return s.mounts, func() error { return nil }, nil
	}
	dir, remove, err := private()
	if err != nil {
		return nil, nil, err
	}
	mounts = append(mounts, s.mounts...)
	for i, f := range s.files {
		source := filepath.Join(dir, fmt.Sprint(i))
		switch {
		case s.undefended || f.places != "" && f.within == "":
			source = f.path
		case f.places != "":
			err = f.copyFolder(ctx, source)
		default:
			err = os.WriteFile(source, f.data, 0o600)
		}
		if err == nil {
			err = s.unchanged(ctx, f)
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("show %s to what installs packages: %w", f.name, err), remove())
		}
		mounts = append(mounts, sdk.Mount{Source: source, Target: f.inside})
	}
	return mounts, func() error {
		errs := []error{remove()}
		for _, f := range s.files {
			if f.within == "" { // of the others there was a copy
				errs = append(errs, s.unchanged(context.WithoutCancel(ctx), f))
			}
		}
		return errors.Join(errs...)
	}, nil
}

// unchanged compares a folder with what it was when it was read.
func (s *Settings) unchanged(ctx context.Context, f file) error {
	if f.places == "" || s.undefended {
		return nil
	}
	now, err := trust.Places(ctx, f.path)
	if err == nil && now != f.places {
		err = fmt.Errorf("%s has changed while packages were installed from it; start again", f.path)
	}
	return err
}

// copyFolder copies the plain files of a folder that came with an experiment.
func (f *file) copyFolder(ctx context.Context, to string) error {
	root, name, err := f.open(f.within)
	if err != nil {
		return err
	}
	defer root.Close()
	folder, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		switch target := filepath.Join(to, name); {
		case d.IsDir():
			return os.Mkdir(target, 0o700)
		case d.Type().IsRegular():
			return copyPlain(folder, name, target)
		}
		return nil
	})
}

func copyPlain(from *os.Root, name, to string) error {
	in, info, err := plainfile.Open(from, name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return errors.Join(err, out.Close())
}
