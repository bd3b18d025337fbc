package blinding

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/state"
)

const (
	copiesDir = "veiled" // folder of the cache with copies of models; older versions have written it
	copyKind  = "2"      // changes when the same folder would be copied otherwise
	noteName  = ".key"   // ends the name of the file that says what a copy was made of
)

// RefCopy is the kind of [cachegc.References] that copies have; the key is the folder.
const RefCopy = "model"

// Copies are the copies of models in the cache.
type Copies struct {
	Store  *state.Store
	Now    func() time.Time
	Folder func(key string) string // names the folder of a copy, which sandboxes can see; nil = at random
}

// randomFolder tells nothing of what the folder is made of.
func randomFolder(string) string {
	name := make([]byte, 20)
	_, _ = rand.Read(name) // never fails
	return hex.EncodeToString(name)
}

// Of is the copy of a folder, which is made where it is not there yet. Its own
// name is random: the sandbox shows it in its list of mounts.
func (c Copies) Of(ctx context.Context, folder string, names namesearch.Names) (dir string, report Report, err error) {
	key, err := copyKey(folder, names)
	if err != nil {
		return "", report, err
	}
	parent, err := c.Store.Cache(copiesDir)
	if err != nil {
		return "", report, err
	}
	lock, err := state.Acquire(ctx, filepath.Join(parent, key+".making"))
	if err != nil {
		return "", report, err
	}
	defer lock.Remove()
	if dir, report, err := c.before(ctx, parent, key); dir != "" || err != nil {
		return dir, report, err
	}
	name := randomFolder
	if c.Folder != nil {
		name = c.Folder
	}
	dir = filepath.Join(parent, name(key))
	making, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return "", report, err
	}
	defer making.Remove()
	if report, err = Make(ctx, folder, dir+cachegc.PartialSuffix, names); err != nil {
		return "", report, err
	}
	note, err := json.Marshal(copyNote{key, report})
	if err == nil {
		err = state.WriteFile(dir+noteName, note, 0o600)
	}
	if err == nil {
		now := c.Now() // its files have the times of Epoch, and who prunes would take it for unused since then
		err = os.Chtimes(dir+cachegc.PartialSuffix, now, now)
	}
	if err != nil {
		return "", report, errors.Join(err, os.RemoveAll(dir+cachegc.PartialSuffix))
	}
	return dir, report, os.Rename(dir+cachegc.PartialSuffix, dir)
}

// copyNote says what a blinded copy was made of, and what was done.
type copyNote struct {
	Key    string `json:"key"`
	Report Report `json:"report"`
}

// before finds the copy of a key. Notes of copies that are gone go, too.
func (c Copies) before(ctx context.Context, parent, key string) (string, Report, error) {
	notes, err := filepath.Glob(filepath.Join(parent, "*"+noteName))
	if err != nil {
		return "", Report{}, err
	}
	for _, path := range notes {
		var note copyNote
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &note)
		}
		if err != nil || note.Key != key {
			continue // of another one, or removed just now
		}
		dir := strings.TrimSuffix(path, noteName)
		if err := c.usedNow(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
			return dir, note.Report, err
		}
		if err := os.Remove(path); err != nil {
			return "", Report{}, err
		}
	}
	return "", Report{}, nil
}

// usedNow marks a blinded copy as used now, so that nobody prunes it.
func (c Copies) usedNow(ctx context.Context, dir string) error {
	lock, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer lock.Remove()
	now := c.Now()
	return os.Chtimes(dir, now, now)
}

// copyKey names what a blinded copy is made of.
func copyKey(folder string, names namesearch.Names) (string, error) {
	key := sha256.New()
	fmt.Fprintf(key, "%s\n%q\n%q\n%s\n", copyKind, names.Spec().Names, names.Spec().Stay, folder)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(key, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return hex.EncodeToString(key.Sum(nil))[:40], err
}

// Items are the complete copies.
func (c Copies) Items(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
	dir, names, err := cachegc.Folders(c.Store, copiesDir)
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	var errs []error
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		path := filepath.Join(dir, name)
		bytes, err := state.DiskUse(ctx, path)
		last, lost := cachegc.LastUse(path)()
		if errors.Is(lost, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, lost); err != nil {
			errs = append(errs, fmt.Errorf("the blinded copy %s: %w", name, err))
			continue
		}
		all = append(all, cachegc.Item{Kind: "blinded model", Name: name[:min(12, len(name))], Bytes: bytes, Last: last, Needed: refs.Has(RefCopy, path),
			Lock: path + ".lock", Fresh: cachegc.LastUse(path), Remove: func() error { return cachegc.RemoveTree(path) }})
	}
	return all, errors.Join(errs...)
}

// Partials are the copies whose making was broken off.
func (c Copies) Partials() cachegc.Partials {
	return cachegc.Partials{Dir: copiesDir, What: "a blinded copy of a model; its making was broken off", Lock: func(name string) string { return name + ".lock" }}
}
