package surface

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/plainfile"
)

// maxOld is the largest file that can be one of Seer's: no surface is larger.
const maxOld = 64 << 20

// file is one that is to be written.
type file struct {
	name string // slash path below the folder
	data []byte
	mode fs.FileMode
}

// InTheWayError says that files would have to be replaced that Seer did not write, or that
// somebody has changed since.
type InTheWayError struct {
	Dir   string
	Files []string // slash paths, in the order of the surface
}

func (e *InTheWayError) Error() string {
	const most = 20
	shown, more := e.Files, ""
	if len(shown) > most {
		shown, more = shown[:most], fmt.Sprintf(" and %d more", len(e.Files)-most)
	}
	quoted := make([]string, len(shown))
	for i, name := range shown {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("nothing was written to %s: %s%s would be replaced, and Seer did not write them or they were changed since; move them away, or choose another folder or another name for the service",
		e.Dir, strings.Join(quoted, ", "), more)
}

// writeAll writes all files, or none where one is in the way.
func writeAll(ctx context.Context, dir string, all []file, t Target) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	rec, err := t.Records.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer rec.Close()
	blocked := &InTheWayError{Dir: dir}
	for _, f := range all {
		free, err := rec.replaceable(root, f)
		if err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, f.name), err)
		}
		if !free && !t.overwrite {
			blocked.Files = append(blocked.Files, f.name)
		}
		rec.Note(f.name, Sum(f.data))
	}
	if len(blocked.Files) > 0 {
		return blocked
	}
	if err := rec.Save(); err != nil {
		return err
	}
	for _, f := range all {
		if err := writeFile(root, f.name, f.data, f.mode); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, f.name), err)
		}
		rec.Settle(f.name, Sum(f.data))
	}
	return rec.Save()
}

// replaceable reports whether a file can be written without the loss of one of the
// user's. A link is one of them, and so is what lies behind a link to a folder.
func (c *Record) replaceable(root *os.Root, f file) (bool, error) {
	parts := strings.Split(f.name, "/")
	for i := range parts[1:] {
		info, err := root.Lstat(strings.Join(parts[:i+1], "/"))
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if !info.IsDir() {
			return false, nil
		}
	}
	old, err := plainfile.Read(root, f.name, maxOld)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.Is(err, plainfile.ErrOther):
		return false, nil
	case err != nil:
		return false, err
	}
	sum := Sum(old)
	return sum == Sum(f.data) || c.Wrote(f.name, sum), nil
}

// writeFile replaces a file atomically, so that an agent that imports it while an
// interface is served again sees the old one or the new one.
func writeFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	tmp := name + ".seer-tmp"
	_ = root.Remove(tmp)
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
	}
	return err
}

// File is one for [WriteFiles].
type File struct {
	Path string // with slashes, below the folder
	Data []byte
	Mode fs.FileMode
}

// WriteFiles puts files below dir, which it makes, as [Write] does with those of a surface:
// each appears whole, and nothing is written where one of them would replace a file of
// others, which is an [*InTheWayError].
func WriteFiles(ctx context.Context, dir string, files []File, r Records) error {
	all := make([]file, len(files))
	for i, f := range files {
		if !fs.ValidPath(f.Path) || f.Path == "." {
			return fmt.Errorf("write to %s: %q is not a plain relative path", dir, f.Path)
		}
		all[i] = file{name: f.Path, data: f.Data, mode: f.Mode}
	}
	return writeAll(ctx, dir, all, Target{Records: r})
}
