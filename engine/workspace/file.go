package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/plainfile"
)

// File is one file of a workspace.
type File struct {
	Path string      // with slashes, below where it goes
	Mode fs.FileMode // permissions; executable ones stay so
	Size int64       // when it was looked at

	data   []byte // of one that was made
	folder string // on this computer, and the file's place in it
	name   string
}

// Made is a file with this content.
func Made(p string, data []byte) File {
	return File{Path: p, Mode: 0o644, Size: int64(len(data)), data: data}
}

// Open reads the file. Through a link it does not leave the folder that was listed.
func (f File) Open() (io.ReadCloser, error) {
	if f.folder == "" {
		return io.NopCloser(bytes.NewReader(f.data)), nil
	}
	if f.name == "" {
		return os.Open(f.folder)
	}
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(f.name)
	if err != nil {
		return nil, explain(filepath.Join(f.folder, f.name), err)
	}
	return file, nil
}

// read is the whole content of a small file.
func (f File) read(limit int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", f.Path, limit)
	}
	return data, err
}

// what says whether a path is to be a file or a folder.
type what int

const (
	either what = iota
	onlyFolder
	onlyFile
)

// loadTree is a file, or every file of a folder, under a name. Caches of Python and the
// history of Git are left out.
func loadTree(source, name string, w what) ([]File, error) {
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", source)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", source, err)
	case name == "." || name == ".." || name == "/":
		return nil, fmt.Errorf("%s has no name of its own to be copied under; list what is in it", source)
	case info.IsDir() && w == onlyFile:
		return nil, fmt.Errorf("%s is a folder, and a file is needed", source)
	case info.IsDir():
		return loadFolder(source, name)
	case w == onlyFolder:
		return nil, fmt.Errorf("%s is not a folder; list it under files", source)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a file nor a folder", source)
	}
	f := File{Path: name, Mode: info.Mode().Perm(), Size: info.Size(), folder: source}
	return []File{f}, f.readable()
}

func loadFolder(source, name string) ([]File, error) {
	root, err := os.OpenRoot(source)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", source, err)
	}
	defer root.Close()
	var files []File
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		at := filepath.Join(source, p)
		switch {
		case err != nil:
			return explain(at, err)
		case d.IsDir() && (d.Name() == "__pycache__" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(p, ".pyc"):
			return nil
		}
		info, err := root.Stat(p) // follows a link that stays inside
		switch {
		case err != nil:
			return explain(at, err)
		case info.IsDir():
			return fmt.Errorf("%s is a link to a folder; put the folder itself there", at)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder; remove it, or list the others one by one", at)
		}
		f := File{Path: path.Join(name, filepath.ToSlash(p)), Mode: info.Mode().Perm(), Size: info.Size(), folder: source, name: p}
		files = append(files, f)
		return f.readable()
	})
	return files, err
}

// readable tells early what would fail late.
func (f File) readable() error {
	r, err := f.Open()
	if err != nil {
		return explain(filepath.Join(f.folder, f.name), err)
	}
	return r.Close()
}

// explain says in one line why a file cannot be taken.
func explain(at string, err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case plainfile.Escapes(err):
		return fmt.Errorf("%s is a link that leads out of its folder; put the file itself there", at)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is a link to nothing, or has just gone", at)
	}
	return fmt.Errorf("%s cannot be read: %w", at, p.Err)
}
