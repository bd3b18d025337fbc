package local

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
)

const runtimePrefix = "seer-runtime-"

// binaries are those of the runtime on this computer.
type binaries struct {
	dir     string   // may be empty
	digests sync.Map // runtimeFile → digest
}

// command is the program of this computer that outlives the one that starts it: the runtime
// with the name of a part of it.
func (b *binaries) command(part string) []string {
	return []string{filepath.Join(b.dir, runtimePrefix+runtime.GOOS+"-"+runtime.GOARCH), part}
}

// link shows the loader the binaries of this computer under the names it
// looks for. They are links, so that the machine can add others but not change
// these.
func (b *binaries) link(f folder, kind string) error {
	found, err := b.find()
	if err != nil {
		return err
	}
	for digest, name := range found {
		target := path.Join(artifacts, name)
		if kind == isolation.None {
			target = filepath.Join(b.dir, name)
		}
		link := filepath.Join(f.path("cache"), runtimePrefix+digest)
		if err := os.Symlink(target, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("fill the loader's cache: %w", err)
		}
	}
	return nil
}

// find finds the runtimes for this computer: digest → file name.
func (b *binaries) find() (map[string]string, error) {
	out := map[string]string{}
	if b.dir == "" {
		return out, nil
	}
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the runtime's binaries: %w", err)
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), runtimePrefix)
		switch {
		case !ok || !entry.Type().IsRegular():
		case len(rest) == 2*sha256.Size && strings.Trim(rest, "0123456789abcdef") == "":
			out[rest] = entry.Name()
		case rest == "linux-"+runtime.GOARCH || rest == runtime.GOOS+"-"+runtime.GOARCH:
			digest, err := b.digest(entry)
			if err != nil {
				return nil, err
			}
			out[digest] = entry.Name()
		}
	}
	return out, nil
}

// runtimeFile tells a binary from one that has taken its place.
type runtimeFile struct {
	name    string
	size    int64
	changed int64
}

// digest is that of a binary of the runtime, which is read once.
func (b *binaries) digest(entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	file := runtimeFile{info.Name(), info.Size(), info.ModTime().UnixNano()}
	if known, ok := b.digests.Load(file); ok {
		return known.(string), nil
	}
	digest, err := state.Digest(filepath.Join(b.dir, entry.Name()))
	if err != nil {
		return "", fmt.Errorf("read the runtime's binary: %w", err)
	}
	b.digests.Store(file, digest)
	return digest, nil
}
