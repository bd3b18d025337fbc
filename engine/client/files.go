package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
)

// Files is the client of the files of a machine.
type Files struct{ *transport }

// Read copies a file of the machine to w and returns how many bytes.
func (c Files) Read(ctx context.Context, path string, w io.Writer) (int64, error) {
	resp, err := c.do(ctx, http.MethodGet, "/v1/files", pathQuery(path), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, tartree.Counting(resp.Body, counter(ctx)))
	if err != nil {
		return n, fmt.Errorf("read %s from the sandbox: %w", path, tartree.BrokenOff(err))
	}
	return n, nil
}

// Write stores what r yields as a file of the machine. Its folders are
// made. A reader on the machine sees the old content or the new one. It returns when ctx
// ends, also while r has nothing to say: r may be read once more after that.
func (c Files) Write(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	switch r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader: // never wait
	default:
		body, end := yielding(ctx, r)
		defer end()
		r = body
	}
	return c.write(ctx, path, r, mode)
}

// yielding is r, but a read of it ends with ctx: net/http waits for the body's reader even
// when the request is over.
func yielding(ctx context.Context, r io.Reader) (io.Reader, func()) {
	in, out := io.Pipe()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()); out.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.CopyBuffer(out, r, make([]byte, 256<<10))
		out.CloseWithError(err)
	}()
	return in, func() {
		stop()
		in.Close()
	}
}

func (c Files) write(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	q := pathQuery(path)
	q.Set("mode", fmt.Sprintf("%#o", mode.Perm()))
	return c.put(ctx, "/v1/files", q, tartree.Counting(r, counter(ctx)))
}

func (c Files) put(ctx context.Context, path string, q url.Values, r io.Reader) error {
	from := &source{r: r}
	var body io.Reader = from
	switch r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader: // never fail, and net/http knows their lengths
		body = r
	}
	resp, err := c.do(ctx, http.MethodPut, path, q, body)
	if failed := from.failed.Load(); err != nil && failed != nil && ctx.Err() == nil {
		return *failed
	}
	if err != nil {
		return err
	}
	drain(resp.Body)
	return nil
}

// source keeps the error of a reader: net/http makes one of the connection of it, which blames the
// sandbox.
type source struct {
	r      io.Reader
	failed atomic.Pointer[error] // the transport may still read when the answer is there
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Close closes the reader, if it can be closed.
func (s *source) Close() error {
	if c, ok := s.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Stat describes a path of the machine. It does not follow a symlink.
func (c Files) Stat(ctx context.Context, path string) (protocol.Entry, error) {
	var e protocol.Entry
	return e, c.json(ctx, http.MethodGet, "/v1/files/stat", pathQuery(path), nil, &e)
}

// List lists a folder of the machine, sorted by name.
func (c Files) List(ctx context.Context, path string) ([]protocol.Entry, error) {
	return list[protocol.Entry](ctx, c.transport, "/v1/files/list", pathQuery(path), "entries")
}

// Mkdir makes a folder with its parents. It is fine if it exists.
func (c Files) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	q := pathQuery(path)
	q.Set("mode", fmt.Sprintf("%#o", mode.Perm()))
	return c.json(ctx, http.MethodPost, "/v1/files/mkdir", q, nil, nil)
}

// Remove removes a file, an empty folder, or with recursive a whole tree.
func (c Files) Remove(ctx context.Context, path string, recursive bool) error {
	q := pathQuery(path)
	if recursive {
		q.Set("recursive", "1")
	}
	return c.json(ctx, http.MethodDelete, "/v1/files", q, nil, nil)
}

// Download copies a file or the content of a folder of the machine to local. Nothing is
// written outside local, whatever the machine sends: an entry that would leave it is left out
// and reported as the error, after the rest has been written. So is what vanishes or may not
// be read on the machine, as a [*tartree.PartialError]. A file appears as a whole or not at
// all, and never in the place of a pipe, a socket or a device.
func (c Files) Download(ctx context.Context, remote, local string) error {
	resp, err := c.do(ctx, http.MethodGet, "/v1/tree", pathQuery(remote), nil)
	if protocol.CodeOf(err) == protocol.Invalid { // not a folder
		return c.downloadFile(ctx, remote, local)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := tartree.UnpackCounted(resp.Body, local, counter(ctx), renamer(ctx)); err != nil {
		return fmt.Errorf("download %s: %w", remote, err)
	}
	return nil
}

func (c Files) downloadFile(ctx context.Context, remote, local string) (err error) {
	if info, err := os.Stat(local); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return protocol.Errorf(protocol.Invalid, "%s is there and no file but a pipe, a socket or a device, which no file replaces", local)
	}
	resp, err := c.do(ctx, http.MethodGet, "/v1/files", pathQuery(remote), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	mode, err := strconv.ParseUint(resp.Header.Get(protocol.HeaderMode), 8, 32)
	if err != nil {
		return fmt.Errorf("download %s: the sandbox sent no valid mode", remote)
	}
	if err := os.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(local), ".seer-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, tartree.Counting(resp.Body, counter(ctx)))
	if err == nil {
		err = f.Chmod(fs.FileMode(mode).Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("download %s: %w", remote, tartree.BrokenOff(err))
	}
	return os.Rename(f.Name(), local)
}

func pathQuery(path string) url.Values { return url.Values{"path": {path}} }

// ReadTree gives out the content of a folder of the machine as a tar stream: files,
// folders, links; modes and times kept. The caller closes it. A stream that breaks off
// ends with an error, not with io.EOF.
func (c Files) ReadTree(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, "/v1/tree", pathQuery(path), nil)
	if err != nil {
		return nil, err
	}
	if told := counter(ctx); told != nil {
		return struct {
			io.Reader
			io.Closer
		}{tartree.Counting(resp.Body, told), resp.Body}, nil
	}
	return resp.Body, nil
}

// WriteTree unpacks a tar stream into a folder of the machine, over what is there.
// Entries that would leave the folder, hard links and devices are left out and are the
// error, after the rest has been written.
func (c Files) WriteTree(ctx context.Context, path string, r io.Reader) error {
	return c.put(ctx, "/v1/tree", pathQuery(path), tartree.Counting(r, counter(ctx)))
}

// RestoreTree is [Files.WriteTree] of a tree of a machine's own: symlinks lead wherever
// they led when it was read.
func (c Files) RestoreTree(ctx context.Context, path string, r io.Reader) error {
	q := pathQuery(path)
	q.Set("links", "1")
	return c.put(ctx, "/v1/tree", q, tartree.Counting(r, counter(ctx)))
}

type renamingKey struct{}

// Renaming makes [Files.Download] of a folder give each file and folder in it the name
// that rename returns for its own. Different names must stay different.
func Renaming(ctx context.Context, rename func(name string) string) context.Context {
	return context.WithValue(ctx, renamingKey{}, rename)
}

// IsRenaming reports whether the context says how files are named.
func IsRenaming(ctx context.Context) bool { return renamer(ctx) != nil }

func renamer(ctx context.Context) func(string) string {
	rename, _ := ctx.Value(renamingKey{}).(func(string) string)
	return rename
}

type countedKey struct{}

// Counted is a context in which [Files.Upload], [Files.Download], [Files.Write] and
// [Files.Read] call told for each piece of a file's content how many bytes it has, one piece
// at a time: what was sent, or what has come. Of [Files.ReadTree], [Files.WriteTree] and
// [Files.RestoreTree] it is the stream as it is.
func Counted(ctx context.Context, told func(bytes int64)) context.Context {
	return context.WithValue(ctx, countedKey{}, told)
}

// counter is what the context counts with, or nil.
func counter(ctx context.Context) func(int64) {
	told, _ := ctx.Value(countedKey{}).(func(int64))
	return told
}
