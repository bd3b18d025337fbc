package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/redact"
	"github.com/seer-engine/seer/internal/osfile"
)

// filesHandler answers requests about files and folders.
type filesHandler struct {
	env    *environment.Env
	memory *memory
}

// at answers a request about the path in its query.
func (h *filesHandler) at(answer func(w http.ResponseWriter, r *http.Request, path string) error) httpx.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		path, err := queryPath(h.env, r)
		if err != nil {
			return err
		}
		return answer(w, r, path)
	}
}

// queryPath is where the path of a request really is.
func queryPath(env *environment.Env, r *http.Request) (string, error) {
	p := r.URL.Query().Get("path")
	if p == "" {
		return "", protocol.Errorf(protocol.Invalid, "the request names no path")
	}
	return env.Path(p), nil
}

func (h *filesHandler) getFile(w http.ResponseWriter, _ *http.Request, path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|osfile.OpenNonblock, 0) // a named pipe must not block
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if h.memory.is(info) {
		return protocol.Errorf(protocol.Forbidden, "%s is the memory of the runtime and cannot be read", path)
	}
	if !info.Mode().IsRegular() {
		return protocol.Errorf(protocol.Invalid, "%s is not a file but %s", path, entryType(info.Mode()))
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set(protocol.HeaderMode, modeText(info.Mode()))
	header.Set(protocol.HeaderSize, strconv.FormatInt(info.Size(), 10))
	header.Set(protocol.HeaderMtime, strconv.FormatInt(info.ModTime().Unix(), 10))
	if info.Size() == 0 {
		return copyUnsized(w, f, redact.New(h.env.Config().Secrets))
	}
	header.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	w.WriteHeader(http.StatusOK)
	if _, err := io.CopyN(w, f, info.Size()); err != nil {
		httpx.Abort(err)
	}
	return nil
}

func putFile(w http.ResponseWriter, r *http.Request, path string) error {
	q := httpx.QueryOf(r)
	mode := q.Mode(0o644)
	if err := q.Err(); err != nil {
		return err
	}
	n, err := storeFile(path, r.Body, mode)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]int64{"size": n})
}

// storeFile writes beside the target and renames, so that a reader sees the old
// content or the new one.
func storeFile(path string, r io.Reader, mode fs.FileMode) (n int64, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return 0, protocol.Errorf(protocol.Invalid, "%s is a folder", path)
	}
	if info, err := os.Lstat(path); err == nil && entryType(info.Mode()) == protocol.EntryOther {
		return 0, protocol.Errorf(protocol.Invalid, "%s is not a file but a pipe, a socket or a device, which no file replaces", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".seer-*")
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			at.Path = path // that of the temporary file says nothing to anybody
		}
		return 0, err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	n, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return n, err
	}
	return n, os.Rename(f.Name(), path)
}

func deleteFile(w http.ResponseWriter, r *http.Request, path string) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	remove := os.Remove
	if httpx.QueryOf(r).Is("recursive") {
		remove = os.RemoveAll
	}
	if err := remove(path); err != nil {
		return err
	}
	return httpx.WriteDone(w)
}

func statFile(w http.ResponseWriter, r *http.Request, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, entry(r.URL.Query().Get("path"), path, info))
}

func listFiles(w http.ResponseWriter, r *http.Request, path string) error {
	found, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	shown := r.URL.Query().Get("path")
	list := []protocol.Entry{}
	for _, d := range found {
		info, err := d.Info()
		if err != nil {
			continue // gone meanwhile
		}
		list = append(list, entry(filepath.Join(shown, d.Name()), filepath.Join(path, d.Name()), info))
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"entries": list})
}

// entry describes a file under the path that the client knows.
func entry(shown, path string, info fs.FileInfo) protocol.Entry {
	e := protocol.Entry{Name: filepath.Base(shown), Path: shown, Type: entryType(info.Mode()), Size: info.Size(),
		Mode: modeText(info.Mode()), MtimeUnix: info.ModTime().Unix()}
	if e.Type == protocol.EntrySymlink {
		e.Target, _ = os.Readlink(path)
	}
	return e
}

func entryType(m fs.FileMode) protocol.EntryType {
	switch {
	case m.IsRegular():
		return protocol.EntryFile
	case m.IsDir():
		return protocol.EntryDir
	case m&fs.ModeSymlink != 0:
		return protocol.EntrySymlink
	}
	return protocol.EntryOther
}

func modeText(m fs.FileMode) string { return fmt.Sprintf("%04o", m.Perm()) }

func mkdir(w http.ResponseWriter, r *http.Request, path string) error {
	q := httpx.QueryOf(r)
	mode := q.Mode(0o755)
	if err := q.Err(); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return httpx.WriteDone(w)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	return httpx.WriteDone(w)
}

func getTree(w http.ResponseWriter, _ *http.Request, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return protocol.Errorf(protocol.Invalid, "%s is not a folder", path)
	}
	dir, err := os.Open(path) // an answer that has begun could not say that this may not be read
	if err != nil {
		return err
	}
	defer dir.Close()
	w.Header().Set("Content-Type", "application/x-tar")
	if err := tartree.Pack(w, path); err != nil {
		httpx.Abort(err)
	}
	return nil
}

func putTree(w http.ResponseWriter, r *http.Request, path string) error {
	unpack := tartree.Unpack
	if httpx.QueryOf(r).Is("links") {
		unpack = tartree.Restore
	}
	result, err := unpack(r.Body, path)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, result)
}
