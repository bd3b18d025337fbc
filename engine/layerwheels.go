package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/state"
)

// wheelsDir is the folder of the cache with the files that pip has downloaded from its own
// index.
const wheelsDir = "wheels"

// ownWheelsDir is beside it, with a folder for each set of indexes.
const ownWheelsDir = "wheels-of-indexes"

// indexSettings decide from where pip downloads.
var indexSettings = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"}

// wheelsOf is the folder for the files that pip downloads for some packages and commands.
// All builds share those of pip's own index. Who downloads from elsewhere may have opened
// that with a password, so the folder belongs to exactly those indexes and URLs.
func (e *Engine) wheelsOf(s settings, packages, commands []string) (string, error) {
	from := map[string]string{}
	for _, name := range indexSettings {
		for _, name := range []string{name, foreignPrefix + name} {
			if text, ok := s.identity[name]; ok {
				from[name] = text
			}
		}
	}
	for _, text := range slices.Concat(packages, commands) {
		if strings.Contains(text, "://") {
			from["url "+text] = ""
		}
	}
	if len(from) == 0 || e.seams.wheelsVisible {
		return e.store.Cache(wheelsDir)
	}
	data, err := json.Marshal(from)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return e.store.Cache(ownWheelsDir, hex.EncodeToString(sum[:]))
}

// freshSuffix follows the key of a layer in the name of the folder for pip's new files.
const freshSuffix = "-" + wheelsDir

// Bounds on what one build adds to the store.
const (
	maxWheels     = 4096
	maxWheelBytes = 16 << 30 // of all its files: one with holes costs a build nothing
)

// wheelStore is a folder of files named by their SHA-256. Builds see it read-only, and
// pip takes a file only for a link whose index names that SHA-256. A build, whose code is
// a stranger's, can therefore add whatever it likes: nobody gets it who did not ask for
// exactly that content.
type wheelStore struct {
	dir string

	most      int64 // bytes that one build may add
	unchecked bool  // for tests: a file is kept under whatever name the build gave it
}

// openWheels gives the store in a folder and an empty folder for the new files of the
// build of a layer.
func (e *Engine) openWheels(dir, key string) (wheelStore, string, error) {
	layers, err := e.store.Cache(layersDir)
	if err != nil {
		return wheelStore{}, "", err
	}
	fresh := filepath.Join(layers, key+freshSuffix+cachegc.PartialSuffix) // gc finds what a killed build leaves
	if err := errors.Join(state.Sweep(dir), state.RemoveAll(fresh)); err != nil {
		return wheelStore{}, "", err
	}
	return wheelStore{dir: dir, most: maxWheelBytes, unchecked: e.seams.wheelsUnchecked}, fresh, os.Mkdir(fresh, 0o700)
}

// admit copies the new files of a build whose machine has ended. It follows no link and
// opens nothing but plain files; what does not have the SHA-256 that it is named by is
// left out.
func (w wheelStore) admit(ctx context.Context, fresh string) error {
	root, err := os.OpenRoot(fresh)
	if err != nil {
		return err
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxWheels)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	left := w.most
	for _, entry := range entries {
		if !sha256Name(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		if err := w.add(ctx, root, entry.Name(), &left); err != nil {
			return err
		}
	}
	return nil
}

func sha256Name(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == sha256.Size && hex.EncodeToString(sum) == name
}

// add copies one file. It computes the SHA-256 before, so that no other file takes space on
// the disk, and of what it copies. Of a file larger than what is left nothing is read.
func (w wheelStore) add(ctx context.Context, root *os.Root, name string, left *int64) error {
	to := filepath.Join(w.dir, name)
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	in, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("read a downloaded file: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > *left {
		return err
	}
	*left -= info.Size()
	if same, err := w.named(ctx, io.Discard, in, name); err != nil || !same {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	out, err := os.CreateTemp(w.dir, ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // it is gone when it was renamed
	same, err := w.named(ctx, out, in, name)
	if err = errors.Join(err, out.Chmod(0o444), out.Close()); err != nil || !same {
		return err
	}
	return os.Rename(out.Name(), to)
}

// named copies a file and reports whether it has the SHA-256 that it is named by.
func (w wheelStore) named(ctx context.Context, out io.Writer, in io.Reader, name string) (bool, error) {
	total := sha256.New()
	for {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		_, err := io.CopyN(io.MultiWriter(out, total), in, 64<<20)
		if errors.Is(err, io.EOF) {
			return w.unchecked || hex.EncodeToString(total.Sum(nil)) == name, nil
		}
		if err != nil {
			return false, err
		}
	}
}
