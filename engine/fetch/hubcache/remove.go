package hubcache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Remove removes a commit of a repository, or with an empty commit all of the repository,
// with its views. Blobs that another snapshot of the repository uses stay. The caller makes
// sure that no sandbox uses the model. Nothing is removed while a program downloads to the
// repository, which is [sdk.Unavailable]. It returns how many bytes the disk has gained: none
// for what the shared store of newer clients has, which those clients sweep.
func (c Cache) Remove(ctx context.Context, name, revision string) (int64, error) {
	if err := c.idle(name); err != nil {
		return 0, err
	}
	repo, err := c.repo(name)
	if err != nil {
		return 0, err
	}
	known := func(r Revision) bool { return r.Commit == revision }
	if revision != "" && !slices.ContainsFunc(repo.Revisions, known) {
		return 0, sdk.Errorf(sdk.NotFound, "%s has no commit %.60q in the Hugging Face cache", name, revision)
	}
	gone := slices.DeleteFunc(slices.Clone(repo.Revisions), func(r Revision) bool { return revision != "" && !known(r) })
	stay := slices.DeleteFunc(slices.Clone(repo.Revisions), func(r Revision) bool { return revision == "" || known(r) })
	removal := removal{Cache: c, repo: repo}
	for _, r := range gone {
		if err := removal.revision(ctx, r); err != nil {
			return removal.freed, err
		}
	}
	if len(stay) == 0 { // with what no snapshot has
		return removal.freed, errors.Join(removal.tree(repo.Dir), os.RemoveAll(filepath.Join(c.Dir, ".locks", filepath.Base(repo.Dir))))
	}
	return removal.freed, removal.blobs(stay)
}

// idle refuses a repository that a program is at work on: no snapshot shows yet which blobs it has
// found there, or brought. This engine holds the lock of a view meanwhile, and others those of blobs.
func (c Cache) idle(name string) error {
	folder, err := folderName(name)
	if err != nil {
		return err
	}
	var locks []string
	for _, dir := range []string{c.viewPath(name, ""), filepath.Join(c.Dir, ".locks", folder)} {
		found, err := filepath.Glob(filepath.Join(globbed(dir), "*.lock"))
		if err != nil {
			return err
		}
		locks = append(locks, found...)
	}
	for _, path := range locks {
		lock, held, err := state.TryAcquire(path)
		switch {
		case held:
			return sdk.Errorf(sdk.Unavailable, "another program is downloading files of %s, so nothing of it is removed; try again when that program has ended", name)
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist): // of another user, or gone
		case err != nil:
			return err
		default:
			lock.Release()
		}
	}
	return nil
}

// removal removes from a repository, and counts.
type removal struct {
	Cache
	repo  Repo
	used  []string // blobs of the removed revisions
	freed int64
}

// revision removes what leads to blobs: first names, so that no name leads to nothing. It
// waits for processes that work on a view of the revision.
func (r *removal) revision(ctx context.Context, of Revision) error {
	// A repository that was renamed has views under its present name; the commit tells.
	shown, err := views(filepath.Join(globbed(r.Own), Source, "*"), of.Commit)
	if err != nil {
		return err
	}
	if own := r.viewPath(r.repo.Name, of.Commit); !slices.Contains(shown, own) {
		shown = append(shown, own)
	}
	for _, view := range shown {
		if err := os.MkdirAll(filepath.Dir(view), 0o700); err != nil {
			return err
		}
		lock, err := state.Acquire(ctx, view+".lock")
		if err != nil {
			return err
		}
		defer lock.Remove()
	}
	for _, ref := range of.Refs {
		if err := removeFile(filepath.Join(r.repo.Dir, "refs", filepath.FromSlash(ref))); err != nil {
			return err
		}
	}
	snapshot := filepath.Join(r.repo.Dir, "snapshots", of.Commit)
	files, err := snapshotFiles(snapshot)
	if err != nil {
		return err
	}
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil {
			r.used = append(r.used, filepath.Join(filepath.Dir(f), target))
		}
	}
	inside, err := views(globbed(filepath.Join(r.repo.Dir, ".seer")), of.Commit)
	if err != nil {
		return err
	}
	for _, dir := range append(inside, snapshot, filepath.Join(r.repo.Dir, ".no_exist", of.Commit)) {
		if err := r.tree(dir); err != nil {
			return err
		}
	}
	if err := removeFile(filepath.Join(r.repo.Dir, "trees", of.Commit+".json")); err != nil {
		return err
	}
	for _, view := range shown {
		if err := errors.Join(r.tree(view), r.tree(view+".partial")); err != nil {
			return err
		}
	}
	return nil
}

// blobs removes the blobs of removed revisions that no other one has.
func (r *removal) blobs(stay []Revision) error {
	needed := map[string]bool{}
	for _, revision := range stay {
		files, err := snapshotFiles(filepath.Join(r.repo.Dir, "snapshots", revision.Commit))
		if err != nil {
			return err
		}
		for _, f := range files {
			if target, err := os.Readlink(f); err == nil {
				needed[filepath.Join(filepath.Dir(f), target)] = true
			}
		}
	}
	for _, path := range r.used {
		if !needed[path] && filepath.Dir(path) == filepath.Join(r.repo.Dir, "blobs") {
			if err := r.tree(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// tree removes a file or folder, and counts the files that had no other name.
func (r *removal) tree(dir string) error {
	err := state.Walk(dir, func(path string, d fs.DirEntry) error {
		if d.IsDir() {
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if st.Nlink == 1 && d.Type().IsRegular() {
			r.freed += st.Blocks * 512
		}
		return removeFile(path)
	})
	return errors.Join(err, os.RemoveAll(dir))
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
