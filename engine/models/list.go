package models

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// List returns the models by their names. Beside an error are those that could be read.
func (m *Manager) List(ctx context.Context) ([]Model, error) {
	cache, err := m.cache()
	if err != nil {
		return nil, err
	}
	users, err := m.sandboxes()
	errs := []error{err}
	repos, err := cache.List(ctx)
	errs = append(errs, err)
	var all []Model
	known := map[string]*Revision{} // of the Hub, by commit
	for _, repo := range repos {
		all = append(all, ofRepo(repo))
	}
	for i := range all {
		for j := range all[i].Revisions {
			known[all[i].Revisions[j].Revision] = &all[i].Revisions[j]
		}
	}
	own, err := listOwn(ctx, cache.Own, known)
	all, errs = append(all, own...), append(errs, err)
	for i := range all {
		for j := range all[i].Revisions {
			r := &all[i].Revisions[j]
			r.Sandboxes = append(r.Sandboxes, users[all[i].Source+" "+r.Revision]...)
			all[i].Used = later(all[i].Used, r.Used)
		}
	}
	slices.SortFunc(all, func(a, b Model) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Where, b.Where))
	})
	return all, errors.Join(errs...)
}

func ofRepo(repo hubcache.Repo) Model {
	model := Model{
		Name: repo.Name, Source: hubcache.Source, Where: InHub, Dir: repo.Dir, Bytes: repo.Bytes, Used: repo.Used,
		Revisions: []Revision{}, Incomplete: []Incomplete{},
	}
	for _, r := range repo.Revisions {
		model.Revisions = append(model.Revisions, Revision{
			Revision: r.Commit, Dir: filepath.Join(repo.Dir, "snapshots", r.Commit), Refs: append([]string{}, r.Refs...), Files: r.Files, Bytes: r.Bytes, Used: r.Used,
			Broken: append([]string{}, r.Broken...), Sandboxes: []string{},
		})
	}
	for _, i := range repo.Incomplete {
		model.Incomplete = append(model.Incomplete, Incomplete(i))
	}
	return model
}

// listOwn lists what the engine's own cache has: models of other sources, and of the Hub what
// the cache of its clients has not. A view of a revision that is there says only when it was used.
func listOwn(ctx context.Context, own string, known map[string]*Revision) ([]Model, error) {
	var all []Model
	var errs []error
	err := eachOwn(own, func(source, name, dir string) error {
		model := Model{
			Name: Name(source, name), Source: source, Where: InOwn, Dir: dir, Revisions: []Revision{}, Incomplete: []Incomplete{},
		}
		entries, err := os.ReadDir(dir)
		errs = append(errs, err)
		for _, e := range entries {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			errs = append(errs, model.addOwn(e.Name(), known))
		}
		if len(model.Revisions)+len(model.Incomplete) > 0 {
			all = append(all, model)
		}
		return nil
	})
	return all, errors.Join(append(errs, err)...)
}

// eachOwn calls do for each folder of a model in the engine's own cache.
func eachOwn(own string, do func(source, name, dir string) error) error {
	paths, err := filepath.Glob(filepath.Join(globbed(own), "[^.]*", "*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name, err := url.PathUnescape(filepath.Base(path))
		if info, statErr := os.Lstat(path); err != nil || statErr != nil || !info.IsDir() || strings.HasPrefix(name, ".") {
			continue // nothing that the engine has made
		}
		if err := do(filepath.Base(filepath.Dir(path)), name, path); err != nil {
			return err
		}
	}
	return nil
}

// addOwn adds a revision, or what was left of the download of one.
func (m *Model) addOwn(name string, known map[string]*Revision) error {
	path := filepath.Join(m.Dir, name)
	if strings.HasSuffix(name, partialSuffix) {
		found, err := measure(path)
		if found.files > 0 {
			m.Incomplete = append(m.Incomplete, Incomplete{Path: path, Bytes: found.disk, Own: true})
		}
		return err
	}
	info, err := os.Stat(path) // a view may lie in the Hub's cache
	if err != nil || !info.IsDir() {
		return nil
	}
	name, _ = splitPart(name)
	if in := known[name]; m.Source == hubcache.Source && in != nil {
		in.Used = later(in.Used, info.ModTime())
		return nil
	}
	revision, err := url.PathUnescape(name)
	if err != nil {
		return nil
	}
	found, err := measure(path)
	m.Bytes += found.size
	m.Revisions = append(m.Revisions, Revision{
		Revision: revision, Dir: path, Refs: []string{}, Files: found.files, Bytes: found.size, Used: info.ModTime(), Broken: []string{}, Sandboxes: []string{},
	})
	return err
}

// splitPart splits the name of a folder into the revision and what names a part of its files.
func splitPart(name string) (revision, part string) {
	if m := partOf().FindStringSubmatch(name); m != nil {
		return m[1], m[2]
	}
	return name, ""
}

var partOf = lazyregexp.New(`^(.+),([0-9a-f]{16})$`)

// partialSuffix ends the name of a folder in which a download of the engine's own works.
const partialSuffix = ".partial"

// measured is what a folder has.
type measured struct {
	files int
	size  int64 // of all files
	disk  int64 // that they take
	alone int64 // that no other folder has by hard links
}

// measure counts the files of a folder, and the bytes that they take on the disk.
func measure(dir string) (m measured, err error) {
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at
	}
	err = state.Walk(dir, func(path string, d fs.DirEntry) error {
		var st unix.Stat_t
		if !d.Type().IsRegular() || unix.Lstat(path, &st) != nil {
			return nil
		}
		m.files++
		m.size += st.Size
		m.disk += st.Blocks * 512
		if st.Nlink == 1 {
			m.alone += st.Blocks * 512
		}
		return nil
	})
	return m, err
}

// globbed is a path as a pattern that matches it alone.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
