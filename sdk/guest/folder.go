package guest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Folder is a folder that the user granted, read through the host. It needs the
// permission `folders`. It is an [fs.ReadDirFS] and an [fs.ReadFileFS]; files of
// up to [sdk.FolderReadLimit] bytes can be read, larger ones only digested.
type Folder struct{ path string }

// OpenFolder names a granted folder by its absolute path; whether it is granted
// and there shows at the first use.
func OpenFolder(path string) Folder { return Folder{path} }

// Digest returns the SHA-256 of a file, in hex. The host computes it.
func (f Folder) Digest(name string) (string, error) {
	var sum string
	return sum, f.call(folderDigest, "digest", name, &sum)
}

// Digests returns the SHA-256 of each file, in hex. The host computes several at once.
func (f Folder) Digests(names []string) ([]string, error) {
	sums := make([]string, len(names))
	for i, name := range names {
		var next []string
		if i == 0 {
			next = names[1:]
		}
		if err := f.call(folderDigest, "digest", name, &sums[i], next...); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// ReadFile implements [fs.ReadFileFS].
func (f Folder) ReadFile(name string) ([]byte, error) {
	var data []byte
	return data, f.call(folderRead, "read", name, &data)
}

// ReadDir implements [fs.ReadDirFS].
func (f Folder) ReadDir(name string) ([]fs.DirEntry, error) {
	var list []sdk.FolderEntry
	if err := f.call(folderList, "readdir", name, &list); err != nil {
		return nil, err
	}
	out := make([]fs.DirEntry, len(list))
	for i, e := range list {
		out[i] = fs.FileInfoToDirEntry(info{e})
	}
	return out, nil
}

// Open implements [fs.FS], for what can be listed only.
func (f Folder) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("use ReadFile: %w", fs.ErrInvalid)}
}

// Stat implements [fs.StatFS], which fs.WalkDir needs for its root.
func (f Folder) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return info{sdk.FolderEntry{Name: ".", Type: "dir"}}, nil
	}
	entries, err := f.ReadDir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == path.Base(name) {
			return e.Info()
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

func (f Folder) call(function hostFunction, op, name string, out any, next ...string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	in, err := json.Marshal(sdk.FolderInput{Folder: f.path, Path: name, Next: next})
	if err != nil {
		return err
	}
	if err := ask(function, in, out); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// info is a [fs.FileInfo] of what the host tells.
type info struct{ e sdk.FolderEntry }

func (i info) Name() string       { return i.e.Name }
func (i info) Size() int64        { return i.e.Size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.e.Type == "dir" }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	switch i.e.Type {
	case "dir":
		return fs.ModeDir | 0o755
	case "file":
		return 0o644
	default:
		return fs.ModeIrregular
	}
}
