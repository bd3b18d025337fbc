package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seer-engine/seer/engine/state"
)

// wheelsDir is the folder of the cache with the files that pip has downloaded.
const wheelsDir = "wheels"

// freshSuffix follows the key of a layer in the name of the folder for pip's new files.
const freshSuffix = "-" + wheelsDir

// Bounds on what one build adds to the store.
const (
	maxWheels     = 4096
	maxWheelBytes = 16 << 30 // of one file
)

// wheelStore is a folder of files named by their SHA-256. Builds see it read-only, and
// pip takes a file only for a link whose index names that SHA-256. A build, whose code is
// a stranger's, can therefore add whatever it likes: nobody gets it who did not ask for
// exactly that content.
type wheelStore struct {
	dir string

	unchecked bool // for tests: a file is kept under whatever name the build gave it
}

// openWheels gives the store and an empty folder for the new files of the build of a layer.
func (e *Engine) openWheels(key string) (wheelStore, string, error) {
	dir, err := e.store.Cache(wheelsDir)
	if err != nil {
		return wheelStore{}, "", err
	}
	layers, err := e.store.Cache(layersDir)
	if err != nil {
		return wheelStore{}, "", err
	}
	fresh := filepath.Join(layers, key+freshSuffix+partialName) // gc finds what a killed build leaves
	if err := errors.Join(state.Sweep(dir), removeAll(fresh)); err != nil {
		return wheelStore{}, "", err
	}
	return wheelStore{dir: dir, unchecked: e.seams.wheelsUnchecked}, fresh, os.Mkdir(fresh, 0o700)
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
	for _, entry := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !sha256Name(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		if err := w.add(root, entry.Name()); err != nil {
			return err
		}
	}
	return nil
}

func sha256Name(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == sha256.Size && hex.EncodeToString(sum) == name
}

// add copies one file while it computes the SHA-256 of what it copies.
func (w wheelStore) add(root *os.Root, name string) error {
	to := filepath.Join(w.dir, name)
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	in, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("read a downloaded file: %w", err)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxWheelBytes {
		return err
	}
	out, err := os.CreateTemp(w.dir, ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // it is gone when it was renamed
	total := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, total), io.LimitReader(in, maxWheelBytes))
	if err = errors.Join(err, out.Chmod(0o444), out.Close()); err != nil {
		return err
	}
	if !w.unchecked && hex.EncodeToString(total.Sum(nil)) != name {
		return nil
	}
	return os.Rename(out.Name(), to)
}
