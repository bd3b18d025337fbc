package hubcache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Repo is a repository in the cache.
type Repo struct {
	Name       string // org/name or datasets/org/name
	Dir        string
	Bytes      int64 // of all blobs, each once
	Used       time.Time
	Revisions  []Revision   // by their commits
	Incomplete []Incomplete // downloads that were broken off, or are at work
}

// Revision is a commit in the cache.
type Revision struct {
	Commit string
	Refs   []string // branches and tags that led to it
	Files  int
	Bytes  int64     // of its files, each content once
	Used   time.Time // when a file was read or made last, as far as the system notes that
	Broken []string  // files whose content is missing
}

// Incomplete is a file in which a download has left bytes.
type Incomplete struct {
	Path  string
	Bytes int64 // on the disk
	Own   bool  // of this package; the others are of the Hub's clients
}

// List returns the repositories by their names. Folders of other programs are left out. A
// cache that does not exist is empty. Beside an error are the repositories that could be read.
func (c Cache) List(ctx context.Context) ([]Repo, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Repo
	var errs []error
	for _, e := range entries {
		name, ok := repoName(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		repo, err := readRepo(name, filepath.Join(c.Dir, e.Name()))
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s in the Hugging Face cache: %w", name, err))
			continue
		}
		all = append(all, repo)
	}
	slices.SortFunc(all, func(a, b Repo) int { return strings.Compare(a.Name, b.Name) })
	return all, errors.Join(errs...)
}

func readRepo(name, dir string) (Repo, error) {
	repo := Repo{Name: name, Dir: dir}
	refs, err := readRefs(dir)
	if err != nil {
		return repo, err
	}
	commits, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return repo, err
	}
	contents := map[[2]uint64]int64{} // of all revisions
	for _, e := range commits {
		if !e.IsDir() {
			continue
		}
		files, err := snapshotFiles(filepath.Join(dir, "snapshots", e.Name()))
		if err != nil {
			return repo, err
		}
		r := Revision{Commit: e.Name(), Refs: refs[e.Name()], Files: len(files)}
		own := map[[2]uint64]int64{}
		for _, f := range files {
			r.look(f, own)
		}
		for id, size := range own {
			contents[id] = size
			r.Bytes += size
		}
		repo.Revisions = append(repo.Revisions, r)
		repo.Used = later(repo.Used, r.Used)
	}
	for _, size := range contents {
		repo.Bytes += size
	}
	repo.Incomplete, err = incompletes(dir)
	return repo, err
}

// look adds a file of the snapshot, and its content by its inode.
func (r *Revision) look(file string, contents map[[2]uint64]int64) {
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		r.Broken = append(r.Broken, file)
		return
	}
	contents[[2]uint64{uint64(st.Dev), st.Ino}] = st.Size //nolint:unconvert // Dev is an int32 on macOS
	for _, t := range []unix.Timespec{st.Atim, st.Mtim} {
		r.Used = later(r.Used, time.Unix(t.Unix()))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// readRefs finds the revisions that lead to each commit.
func readRefs(dir string) (map[string][]string, error) {
	refs := map[string][]string{}
	base := filepath.Join(dir, "refs")
	err := state.Walk(base, func(path string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || strings.HasSuffix(path, ".tmp") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(base, path)
		to := strings.TrimSpace(string(text))
		refs[to] = append(refs[to], filepath.ToSlash(name))
		return err
	})
	return refs, err
}

// snapshotFiles are the files of a snapshot, links mostly.
func snapshotFiles(dir string) (files []string, err error) {
	err = state.Walk(dir, func(path string, d fs.DirEntry) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

func incompletes(dir string) ([]Incomplete, error) {
	paths, err := filepath.Glob(filepath.Join(globbed(dir), "blobs", "*.incomplete"))
	var all []Incomplete
	for _, path := range paths {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil {
			own := strings.HasSuffix(path, working+".incomplete")
			all = append(all, Incomplete{Path: path, Bytes: st.Blocks * 512, Own: own})
		}
	}
	return all, err
}

// globbed is a path as a pattern that matches it alone.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Present is the size of those files of a repository whose blobs the cache has, by their sizes.
func (c Cache) Present(repo string, files []sdk.ModelFile) (bytes int64) {
	folder, err := folderName(repo)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(c.Dir, folder, "blobs", blobName(f))); err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
			bytes += f.Size
		}
	}
	return bytes
}
