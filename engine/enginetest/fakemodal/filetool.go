package fakemodal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
)

// fileTool is the program behind the clients' functions for files: one JSON argument,
// the content over the standard streams, an error as JSON on the third.
type fileTool struct {
	folder    func(string) string // path in the sandbox → on this computer
	in        *os.File
	out, errs io.Writer
}

// fileCommand is the argument: what to do, and with what. It has one entry.
type fileCommand map[string]fileArguments

type fileArguments struct {
	Path      string `json:"path"`
	Parents   bool   `json:"parents"`   // of MakeDirectory
	Recursive bool   `json:"recursive"` // of Remove and Watch

	// Of Watch.
	Filter  []string `json:"filter"`
	Timeout *float64 `json:"timeout_secs"`
}

// fileError is how the tool fails.
type fileError struct {
	Kind    string `json:"error_kind"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

func (e *fileError) Error() string { return e.Kind + ": " + e.Message }

// run is the exit code.
func (t fileTool) run(args []string) int32 {
	var c fileCommand
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &c) != nil {
		_, _ = fmt.Fprintln(t.errs, "usage: modal-sandbox-fs-tools JSON")
		return 2
	}
	err := t.do(c)
	if err == nil {
		return 0
	}
	_ = json.NewEncoder(t.errs).Encode(fileErrorOf(err)) // kept in memory
	return 1
}

func (t fileTool) do(c fileCommand) error {
	for what, a := range c {
		if path.IsAbs(a.Path) {
			return t.call(what, a)
		}
	}
	return errNoCommand
}

var errNoCommand = &fileError{Kind: "NotSupported", Message: "The command is unknown, or its path not absolute"}

func (t fileTool) call(what string, a fileArguments) error {
	switch what {
	case "ReadFile":
		return t.read(t.folder(a.Path))
	case "WriteFile":
		return t.write(t.folder(a.Path))
	case "ListFiles":
		return t.list(a.Path)
	case "Stat":
		info, err := t.stat(a.Path)
		if err != nil {
			return err
		}
		return json.NewEncoder(t.out).Encode(info)
	case "MakeDirectory":
		return t.makeDirectory(t.folder(a.Path), a.Parents)
	case "Remove":
		return t.remove(t.folder(a.Path), a.Recursive)
	case "Watch":
		return t.watch(a)
	}
	return errNoCommand
}

func fileErrorOf(err error) *fileError {
	var own *fileError
	if errors.As(err, &own) {
		return own
	}
	e := &fileError{Kind: "Other", Message: "Operation failed", Detail: err.Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message = "NotFound", "No such file or directory"
	case errors.Is(err, syscall.EISDIR):
		e.Kind, e.Message = "IsDirectory", "Is a directory"
	case errors.Is(err, syscall.ENOTDIR):
		e.Kind, e.Message = "NotDirectory", "Not a directory"
	case errors.Is(err, syscall.ENOTEMPTY):
		e.Kind, e.Message = "DirectoryNotEmpty", "Directory not empty"
	case errors.Is(err, fs.ErrExist):
		e.Kind, e.Message = "PathAlreadyExists", "Path already exists"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message = "PermissionDenied", "Permission denied"
	}
	return e
}

func (t fileTool) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	_, err = io.Copy(t.out, f)
	return err
}

// write replaces a file when all of it has come.
func (t fileTool) write(file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".modal-write-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, t.in)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (t fileTool) list(dir string) error {
	entries, err := os.ReadDir(t.folder(dir))
	if err != nil {
		return err
	}
	out := []fileInfo{}
	for _, e := range entries {
		info, err := t.stat(path.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return err
		}
		out = append(out, info)
	}
	return json.NewEncoder(t.out).Encode(out)
}

// fileInfo describes a file as clients know it.
type fileInfo struct {
	Name          string  `json:"name"`
	Path          string  `json:"path"`
	Type          string  `json:"type"`
	Size          int64   `json:"size"`
	Mode          uint32  `json:"mode"`
	Permissions   string  `json:"permissions"`
	Owner         string  `json:"owner"`
	Group         string  `json:"group"`
	ModifiedTime  float64 `json:"modified_time"`
	SymlinkTarget *string `json:"symlink_target"`
}

func (t fileTool) stat(p string) (fileInfo, error) {
	info, err := os.Lstat(t.folder(p))
	if err != nil {
		return fileInfo{}, err
	}
	out := fileInfo{Name: path.Base(p), Path: p, Type: "file", Size: info.Size(), Permissions: info.Mode().Perm().String()[1:],
		ModifiedTime: float64(info.ModTime().UnixMicro()) / 1e6}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		out.Mode, out.Owner, out.Group = uint32(st.Mode), userName(st.Uid), groupName(st.Gid) //nolint:unconvert // 16 bits on macOS
	}
	switch {
	case info.IsDir():
		out.Type = "directory"
	case info.Mode()&fs.ModeSymlink != 0:
		out.Type = "symlink"
		target, err := os.Readlink(t.folder(p))
		if err != nil {
			return out, err
		}
		out.SymlinkTarget = &target
	}
	return out, nil
}

func userName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if u, err := user.LookupId(text); err == nil {
		return u.Username
	}
	return text
}

func groupName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if g, err := user.LookupGroupId(text); err == nil {
		return g.Name
	}
	return text
}

func (t fileTool) makeDirectory(dir string, parents bool) error {
	if !parents {
		return os.Mkdir(dir, 0o755)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fs.ErrExist
	}
	return os.MkdirAll(dir, 0o755)
}

func (t fileTool) remove(file string, recursive bool) error {
	if _, err := os.Lstat(file); err != nil {
		return err
	}
	if recursive {
		return os.RemoveAll(file)
	}
	return os.Remove(file)
}
