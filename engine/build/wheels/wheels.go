// Package wheels keeps the files that pip downloads, so that builds need not download them
// again. The code of a build is a stranger's: it sees the files of others read-only, and a
// file that it adds counts only under the SHA-256 that it has.
package wheels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/state"
)

// Dir is the folder of the cache with the files that pip has downloaded from its own
// index.
const Dir = "wheels"

// ofIndexesDir is beside it, with a folder for each set of indexes.
const ofIndexesDir = "wheels-of-indexes"

// Bounds on what one build adds to the store.
const (
	maxFiles = 4096
	maxBytes = 16 << 30 // of all its files: one with holes costs a build nothing
)

// Cache is the folders of this computer with files that pip has downloaded. It is a
// [cachegc.Source].
type Cache struct {
	Store *state.Store

	// Undefended is for tests that show what the defences are good for: builds share what
	// pip downloaded from every index, and a file is kept under whatever name the build gave
	// it.
	Undefended bool
}

// Folder is the one for the files that pip downloads for some packages and commands.
// All builds share those of pip's own index. Who downloads from elsewhere may have opened
// that with a password, so the folder belongs to exactly those indexes, the settings that
// name them, and URLs.
func (c Cache) Folder(indexes map[string]string, packages, commands []string) (string, error) {
	from := map[string]string{}
	maps.Copy(from, indexes)
	for _, text := range slices.Concat(packages, commands) {
		if strings.Contains(text, "://") {
			from["url "+text] = ""
		}
	}
	if len(from) == 0 || c.Undefended {
		return c.Store.Cache(Dir)
	}
	data, err := json.Marshal(from)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return c.Store.Cache(ofIndexesDir, hex.EncodeToString(sum[:]))
}

// Open prepares a folder of [Cache.Folder] for a build, and makes an empty folder for the
// new files.
func (c Cache) Open(dir, fresh string) (Folder, error) {
	if err := errors.Join(state.Sweep(dir), state.RemoveAll(fresh)); err != nil {
		return Folder{}, err
	}
	return Folder{Dir: dir, fresh: fresh, most: maxBytes, unchecked: c.Undefended}, os.Mkdir(fresh, 0o700)
}

// Folder has files named by their SHA-256. Builds see it read-only, and
// pip takes a file only for a link whose index names that SHA-256. A build, whose code is
// a stranger's, can therefore add whatever it likes: nobody gets it who did not ask for
// exactly that content.
type Folder struct {
	Dir string

	fresh     string // with the new files
	most      int64  // bytes that one build may add
	unchecked bool   // for tests: a file is kept under whatever name the build gave it
}

// Admit copies the new files of a build whose machine has ended. It follows no link and
// opens nothing but plain files; what does not have the SHA-256 that it is named by is
// left out.
func (f Folder) Admit(ctx context.Context) error {
	root, err := os.OpenRoot(f.fresh)
	if err != nil {
		return err
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	left := f.most
	for _, entry := range entries {
		if !sha256Name(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		if err := f.add(ctx, root, entry.Name(), &left); err != nil {
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
func (f Folder) add(ctx context.Context, root *os.Root, name string, left *int64) error {
	to := filepath.Join(f.Dir, name)
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
	if same, err := f.named(ctx, io.Discard, in, name); err != nil || !same {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	out, err := os.CreateTemp(f.Dir, ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // it is gone when it was renamed
	same, err := f.named(ctx, out, in, name)
	if err = errors.Join(err, out.Chmod(0o444), out.Sync(), out.Close()); err != nil || !same {
		return err
	}
	return os.Rename(out.Name(), to)
}

// named copies a file and reports whether it has the SHA-256 that it is named by.
func (f Folder) named(ctx context.Context, out io.Writer, in io.Reader, name string) (bool, error) {
	total := sha256.New()
	for {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		_, err := io.CopyN(io.MultiWriter(out, total), in, 64<<20)
		if errors.Is(err, io.EOF) {
			return f.unchecked || hex.EncodeToString(total.Sum(nil)) == name, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// Items are the files that pip has downloaded. Builds that run have copied what they use,
// or download it again.
func (c Cache) Items(ctx context.Context, _ *cachegc.References) ([]cachegc.Item, error) {
	dir, names, err := cachegc.Folders(c.Store, ofIndexesDir)
	if err != nil {
		return nil, err
	}
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	shared, err := c.Store.Cache(Dir)
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	errs := []error{}
	for _, dir := range append(names, shared) {
		found, err := itemsIn(ctx, dir)
		all, errs = append(all, found...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func itemsIn(ctx context.Context, dir string) ([]cachegc.Item, error) {
	entries, err := os.ReadDir(dir)
	var all []cachegc.Item
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || ctx.Err() != nil || !sha256Name(entry.Name()) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		all = append(all, cachegc.Item{Kind: "downloaded package", Name: entry.Name()[:12], Bytes: info.Size(), Last: info.ModTime(), Made: info.ModTime(),
			Fresh: cachegc.LastUse(path), Remove: func() error { return removeIfExists(path) }})
	}
	return all, errors.Join(err, ctx.Err())
}

func removeIfExists(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
