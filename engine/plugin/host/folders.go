package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	extism "github.com/extism/go-sdk"
	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/sdk"
)

const maxEntries = 100_000

// grants is what the present call may touch.
type grants struct {
	plugin   Plugin
	folders  []string // of the caller
	model    string   // that the call is about
	watch    *watch
	session  *egress.Session
	instance *instance

	mayFolders bool // by manifest and grant
	ahead      ahead
}

// seen names the folders that a call may read.
func (g *grants) seen() string {
	if !g.mayFolders {
		return ""
	}
	return strings.Join(slices.Sorted(slices.Values(g.folders)), "\x00")
}

type grantsKey struct{}

func withGrants(ctx context.Context, g *grants) context.Context {
	return context.WithValue(ctx, grantsKey{}, g)
}

// functions are the host functions. All guests see them; what a call may do with
// them is in its context.
func (h *Host) functions() []extism.HostFunction {
	offset := []extism.ValueType{extism.ValueTypePTR}
	var out []extism.HostFunction
	for name, f := range map[string]folderFunc{
		sdk.HostFolderList:   listFolder,
		sdk.HostFolderRead:   readFile,
		sdk.HostFolderDigest: h.digests.answer,
	} {
		fn := extism.NewHostFunctionWithStack(name, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			stack[0] = answerGuest(ctx, p, stack[0], f)
		}, offset, offset)
		out = append(out, fn)
	}
	out = append(out, streamFunctions()...)
	for i := range out {
		out[i].SetNamespace(sdk.HostModule)
	}
	return out
}

// folderFunc works on path inside an open folder.
type folderFunc func(ctx context.Context, root *os.Root, path string, g *grants, in sdk.FolderInput) (any, error)

// answerGuest reads the input block, calls f and writes an envelope. A guest that
// hands over a bad block has broken the ABI and is ended by the panic.
func answerGuest(ctx context.Context, p *extism.CurrentPlugin, offset uint64, f folderFunc) uint64 {
	raw, err := p.ReadBytes(offset)
	if err != nil {
		panic(err)
	}
	g := grantsOf(ctx)
	g.watch.pause()
	defer g.watch.resume()
	return writeEnvelope(p, func() (any, error) { return g.folder(ctx, raw, f) })
}

// writeEnvelope gives the guest the result of f.
func writeEnvelope(p *extism.CurrentPlugin, f func() (any, error)) uint64 {
	var e sdk.Envelope
	result, err := f()
	if err == nil {
		e.OK, err = json.Marshal(result)
	}
	if err != nil {
		e = sdk.Envelope{Error: plainError(err)}
	}
	out, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	at, err := p.WriteBytes(out)
	if err != nil {
		panic(err)
	}
	return at
}

// folder opens the folder if it was granted. os.Root keeps every access inside,
// whatever the links in it say.
func (g *grants) folder(ctx context.Context, raw []byte, f folderFunc) (any, error) {
	var in sdk.FolderInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "the input is not a folder and a path: %v", err)
	}
	if !fs.ValidPath(in.Path) {
		return nil, sdk.Errorf(sdk.Invalid, "%q is not a plain relative path", in.Path)
	}
	granted := func(have string) bool { return filepath.Clean(have) == filepath.Clean(in.Folder) }
	switch {
	case !g.mayFolders && g.plugin.Manifest.Permissions.Folders:
		return nil, sdk.Errorf(sdk.Unauthorized, "plugin %s may not read folders: its manifest asks for it, but it was not granted; grant it to the plugin", g.plugin.Manifest.ID)
	case !g.mayFolders:
		return nil, sdk.Errorf(sdk.Unauthorized, "plugin %s may not read folders: its manifest does not ask for it", g.plugin.Manifest.ID)
	case !slices.ContainsFunc(g.folders, granted):
		return nil, sdk.Errorf(sdk.Unauthorized, "the folder %s was not granted to this plugin; only folders that the experiment names are", in.Folder)
	}
	root, err := os.OpenRoot(in.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return f(ctx, root, filepath.FromSlash(in.Path), g, in)
}

func plainError(err error) *sdk.Error {
	var e *sdk.Error
	code := sdk.Internal
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, fs.ErrNotExist):
		code = sdk.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = sdk.Unauthorized
	case plainfile.Escapes(err), errors.Is(err, unix.ENOTDIR):
		code = sdk.Invalid
	}
	return sdk.Errorf(code, "%v", err)
}

func listFolder(_ context.Context, root *os.Root, name string, _ *grants, _ sdk.FolderInput) (any, error) {
	d, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, sdk.Errorf(sdk.Invalid, "%s has more than %d entries", name, maxEntries)
	}
	out := make([]sdk.FolderEntry, 0, len(entries))
	for _, e := range entries {
		out = append(out, describe(root, filepath.Join(name, e.Name()), e))
	}
	slices.SortFunc(out, func(a, b sdk.FolderEntry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// describe follows a link to a file inside the folder. Links to folders are not
// followed: they may go round in circles.
func describe(root *os.Root, name string, e fs.DirEntry) sdk.FolderEntry {
	out := sdk.FolderEntry{Name: e.Name(), Type: "other"}
	if e.IsDir() {
		out.Type = "dir"
		return out
	}
	if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
		out.Type, out.Size = "file", info.Size()
	}
	return out
}

func readFile(_ context.Context, root *os.Root, name string, _ *grants, _ sdk.FolderInput) (any, error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > sdk.FolderReadLimit {
		return nil, sdk.Errorf(sdk.Invalid, "%s has %d bytes; a plugin may read files of up to %d", name, info.Size(), sdk.FolderReadLimit)
	}
	return io.ReadAll(io.LimitReader(f, sdk.FolderReadLimit))
}

// openRegular does not hang on a named pipe.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = sdk.Errorf(sdk.Invalid, "%s is not a regular file", path.Clean(filepath.ToSlash(name)))
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
