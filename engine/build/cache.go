package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/state"
)

// RefLayer is the kind of the layers that sandboxes and snapshots refer to, by key.
const RefLayer = "layer"

// freshSuffix follows the key of a layer in the name of the folder for pip's new files.
const freshSuffix = "-wheels"

// Sources are the owners of what is built and downloaded.
func (b *Builder) Sources() []cachegc.Source {
	return []cachegc.Source{cachegc.SourceFunc(b.layerItems), cachegc.SourceFunc(b.rootFSItems), b.wheels()}
}

// Partials are what builds that were broken off leave.
func (b *Builder) Partials() cachegc.Partials {
	return cachegc.Partials{Dir: layersDir, What: "a layer; its building was broken off", Lock: func(name string) string {
		return filepath.Join("locks", strings.TrimSuffix(name, freshSuffix))
	}}
}

// layerItems are the layers.
func (b *Builder) layerItems(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
	dir, names, err := cachegc.Folders(b.Store, layersDir)
	if err != nil {
		return nil, err
	}
	locks, err := b.Store.Cache(layersDir, "locks")
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	var errs []error
	notes := map[string]manifest{}
	for _, key := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		path := filepath.Join(dir, key)
		file, note := filepath.Join(path, manifestFile), manifest{}
		if data, err := os.ReadFile(file); err != nil || json.Unmarshal(data, &note) != nil {
			file = path // of another version of Seer
			if note.Bytes, err = state.DiskUse(ctx, path); err != nil {
				errs = append(errs, fmt.Errorf("the layer %s: %w", key, err))
				continue
			}
		}
		last, err := cachegc.LastUse(file)()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			refs.Add(RefLayer, note.Below)
			continue
		}
		notes[key] = note
		all = append(all, cachegc.Item{Kind: "layer", Name: layerName(key, note), Bytes: note.Bytes, Last: last, Made: madeAt(path), Lock: filepath.Join(locks, key),
			Fresh: cachegc.LastUse(file), Remove: func() error { return cachegc.RemoveTree(path) }})
	}
	for key, note := range notes {
		if refs.Has(RefLayer, key) && note.Below != "" {
			refs.Add(RefLayer, note.Below)
		}
	}
	for i := range all {
		k := &all[i]
		k.Needed = refs.Has(RefLayer, filepath.Base(k.Lock))
		if below := notes[filepath.Base(k.Lock)].Below; below != "" {
			k.Below = filepath.Join(locks, below)
		}
		for j := range all { // it goes after those upon it
			if all[j].Lock == k.Below && !all[j].Last.After(k.Last) {
				all[j].Last = k.Last.Add(time.Nanosecond)
			}
		}
	}
	return all, errors.Join(errs...)
}

func layerName(key string, n manifest) string {
	text := strings.Join(n.Packages, " ")
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	if text == "" {
		return key[:min(12, len(key))]
	}
	return key[:min(12, len(key))] + " (" + text + ")"
}

// madeAt is when a folder of the cache was made: nothing in it has changed since.
func madeAt(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// rootFSItems are the saved systems that starts have made; those that somebody has saved
// by hand are his.
func (b *Builder) rootFSItems(context.Context, *cachegc.References) ([]cachegc.Item, error) {
	dir, err := b.Store.Cache(rootFSDir)
	if err != nil {
		return nil, err
	}
	local, err := b.Store.Dir("local")
	if err != nil {
		return nil, err
	}
	saved := filepath.Join(local, "saved") // there is none before something is saved
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	var errs []error
	for _, entry := range entries {
		note := filepath.Join(dir, entry.Name())
		if !strings.HasSuffix(note, ".json") {
			continue
		}
		ref, err := readRootFS(note)
		id, ours := savedID(ref)
		if err != nil || !ours {
			continue
		}
		tar := filepath.Join(saved, id+".tar")
		last, err := cachegc.LastUse(note)()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		k := cachegc.Item{Kind: "system", Name: id[:min(12, len(id))], Last: last, Lock: note + ".lock", Fresh: cachegc.LastUse(note)}
		if info, err := os.Stat(tar); err == nil {
			k.Bytes, k.Made = info.Size(), info.ModTime()
		}
		k.Remove = func() error {
			users, err := b.rootFSNotes(ref) // now: others may have come since the listing
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(users, func(other string) bool { return other != note }) {
				if err := removeSaved(saved, id); err != nil { // before the note, by which the next pruning finds what remains
					return err
				}
			}
			return removeIfExists(note)
		}
		all = append(all, k)
	}
	return all, errors.Join(errs...)
}

func removeIfExists(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
