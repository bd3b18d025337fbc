package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/image"
)

// everythingKept finds all that can be pruned, but for what is being made. Beside an error
// is what it has found in spite of it.
func (e *Engine) everythingKept(ctx context.Context) ([]kept, error) {
	n, err := e.needs(ctx)
	if err != nil {
		return nil, err
	}
	var all []kept
	var errs []error
	for _, find := range []func(context.Context, needs) ([]kept, error){e.keptLayers, e.keptVeiled, e.keptSystems, e.keptImages, e.keptWheels} {
		found, err := find(ctx, n)
		all, errs = append(all, found...), append(errs, err)
	}
	for i := range all {
		all[i].needed = all[i].needed || n.time(all[i])
	}
	return all, errors.Join(errs...)
}

// folders are the complete things in a folder of the cache.
func (e *Engine) folders(elem string) (dir string, names []string, err error) {
	if dir, err = e.store.Cache(elem); err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "locks" && !strings.HasSuffix(entry.Name(), partialName) {
			names = append(names, entry.Name())
		}
	}
	return dir, names, err
}

func (e *Engine) keptLayers(ctx context.Context, n needs) ([]kept, error) {
	dir, names, err := e.folders(layersDir)
	if err != nil {
		return nil, err
	}
	locks, err := e.store.Cache(layersDir, "locks")
	if err != nil {
		return nil, err
	}
	var all []kept
	var errs []error
	notes := map[string]layerNote{}
	for _, key := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		path := filepath.Join(dir, key)
		file, note := filepath.Join(path, layerFile), layerNote{}
		if data, err := os.ReadFile(file); err != nil || json.Unmarshal(data, &note) != nil {
			file = path // of another version of Seer
			if note.Bytes, err = weigh(ctx, path); err != nil {
				errs = append(errs, fmt.Errorf("the layer %s: %w", key, err))
				continue
			}
		}
		last, err := lastUse(file)()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			n.layers[note.Below] = true
			continue
		}
		notes[key] = note
		all = append(all, kept{kind: "layer", name: layerName(key, note), bytes: note.Bytes, last: last, made: madeAt(path), lock: filepath.Join(locks, key),
			fresh: lastUse(file), remove: func() error { return taken(path) }})
	}
	for key, note := range notes {
		if n.layers[key] && note.Below != "" {
			n.layers[note.Below] = true
		}
	}
	for i := range all {
		k := &all[i]
		k.needed = n.layers[filepath.Base(k.lock)]
		if below := notes[filepath.Base(k.lock)].Below; below != "" {
			k.below = filepath.Join(locks, below)
		}
		for j := range all { // it goes after those upon it
			if all[j].lock == k.below && !all[j].last.After(k.last) {
				all[j].last = k.last.Add(time.Nanosecond)
			}
		}
	}
	return all, errors.Join(errs...)
}

func layerName(key string, n layerNote) string {
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

func (e *Engine) keptVeiled(ctx context.Context, n needs) ([]kept, error) {
	dir, names, err := e.folders(veiledDir)
	if err != nil {
		return nil, err
	}
	var all []kept
	var errs []error
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		path := filepath.Join(dir, name)
		bytes, err := weigh(ctx, path)
		last, lost := lastUse(path)()
		if errors.Is(lost, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, lost); err != nil {
			errs = append(errs, fmt.Errorf("the veiled copy %s: %w", name, err))
			continue
		}
		all = append(all, kept{kind: "veiled model", name: name[:min(12, len(name))], bytes: bytes, last: last, needed: n.models[path],
			lock: path + ".lock", fresh: lastUse(path), remove: func() error { return taken(path) }})
	}
	return all, errors.Join(errs...)
}

// keptSystems are the saved systems that starts have made; those that somebody has saved
// by hand are his.
func (e *Engine) keptSystems(context.Context, needs) ([]kept, error) {
	dir, err := e.store.Cache(systemsDir)
	if err != nil {
		return nil, err
	}
	local, err := e.store.Dir("local")
	if err != nil {
		return nil, err
	}
	saved := filepath.Join(local, "saved") // there is none before something is saved
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	users := map[string]int{}
	var all []kept
	var errs []error
	for _, entry := range entries {
		note := filepath.Join(dir, entry.Name())
		if !strings.HasSuffix(note, ".json") {
			continue
		}
		ref, err := readSystem(note)
		id, ours := strings.CutPrefix(ref, localSaved)
		if err != nil || !ours || strings.Contains(id, "/") {
			continue
		}
		users[id]++
		tar := filepath.Join(saved, id+".tar")
		last, err := lastUse(note)()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		k := kept{kind: "system", name: id[:min(12, len(id))], last: last, lock: note + ".lock", fresh: lastUse(note)}
		if info, err := os.Stat(tar); err == nil {
			k.bytes, k.made = info.Size(), info.ModTime()
		}
		k.remove = func() error {
			if users[id] == 1 { // what remains of a removal that was broken off is found by its note
				if err := errors.Join(gone(tar), gone(strings.TrimSuffix(tar, ".tar")+".json")); err != nil {
					return err
				}
			}
			if err := gone(note); err != nil {
				return err
			}
			users[id]--
			return nil
		}
		all = append(all, k)
	}
	return all, errors.Join(errs...)
}

// localSaved begins what this computer calls a saved system.
const localSaved = localName + ":sha256:"

func gone(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// keptWheels are the files that pip has downloaded. Builds that run have copied what they
// use, or download it again.
func (e *Engine) keptWheels(ctx context.Context, _ needs) ([]kept, error) {
	dir, names, err := e.folders(ownWheelsDir)
	if err != nil {
		return nil, err
	}
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	shared, err := e.store.Cache(wheelsDir)
	if err != nil {
		return nil, err
	}
	var all []kept
	errs := []error{}
	for _, dir := range append(names, shared) {
		found, err := wheelsIn(ctx, dir)
		all, errs = append(all, found...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func wheelsIn(ctx context.Context, dir string) ([]kept, error) {
	entries, err := os.ReadDir(dir)
	var all []kept
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || ctx.Err() != nil || !sha256Name(entry.Name()) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		all = append(all, kept{kind: "downloaded package", name: entry.Name()[:12], bytes: info.Size(), last: info.ModTime(), made: info.ModTime(),
			fresh: lastUse(path), remove: func() error { return gone(path) }})
	}
	return all, errors.Join(err, ctx.Err())
}

func (e *Engine) keptImages(_ context.Context, n needs) ([]kept, error) {
	dir, err := e.store.Cache("images")
	if err != nil {
		return nil, err
	}
	stored, err := image.List(dir)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, s := range stored {
		name := s.Digest
		if len(s.Refs) > 0 {
			name = s.Refs[0]
		}
		all = append(all, kept{kind: "image", name: name, bytes: s.Bytes, last: s.LastUse, made: s.Created, needed: n.images[s.Dir] || n.bases[s.Digest],
			fresh: lastUse(filepath.Join(filepath.Dir(s.Dir), "root.json")), remove: func() error {
				_, err := image.Prune(dir, func(other image.Stored) bool { return other.Digest != s.Digest })
				return err
			}})
	}
	return all, nil
}
