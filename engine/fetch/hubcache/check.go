package hubcache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/sdk"
)

// Verified is what [Cache.Verify] found in a repository.
type Verified struct {
	Name    string
	Blobs   int      // files that were read
	Bytes   int64    // of these
	Wrong   []string // paths of files with another content than was promised
	Broken  []string // files of snapshots whose content is missing
	Unknown []string // files that nobody has promised a content of, in a form that is known here
}

// Verify reads all blobs of a repository, several at once, and compares them with their
// names. It reads files that lie in a snapshot themselves, too, if the list of the commit has
// their hashes. What is remembered of them does not count. Progress receives how many bytes
// of how many have been read; it is called from several goroutines; nil = nobody.
func (c Cache) Verify(ctx context.Context, name string, progress func(done, total int64)) (Verified, error) {
	found := Verified{Name: name}
	repo, err := c.repo(name)
	if err != nil {
		return found, err
	}
	for _, r := range repo.Revisions {
		found.Broken = append(found.Broken, r.Broken...)
	}
	promised, err := repo.promised(ctx, &found)
	if err != nil {
		return found, err
	}
	var mu sync.Mutex
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for path, want := range promised {
		group.Go(func() error {
			sum, err := hashFile(ctx, want, path, func(n int) {
				if now := done.Add(int64(n)); progress != nil {
					progress(now, found.Bytes)
				}
			})
			if err == nil && sum == want {
				return c.notes().remember(want, path)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, fs.ErrNotExist): // it is being removed
				found.Broken = append(found.Broken, path)
			case err != nil:
				return err
			default:
				found.Wrong = append(found.Wrong, path)
			}
			return nil
		})
	}
	err = group.Wait()
	slices.Sort(found.Wrong)
	slices.Sort(found.Broken)
	return found, err
}

// promised are the files of a repository that somebody has promised a content of, with the
// names of blobs with that content. It counts them.
func (r Repo) promised(ctx context.Context, found *Verified) (map[string]string, error) {
	all := map[string]string{}
	add := func(path, name string) {
		info, err := os.Stat(path)
		switch {
		case err != nil || !info.Mode().IsRegular():
			found.Broken = append(found.Broken, path)
		case !sha256().MatchString(name) && !commit().MatchString(name):
			found.Unknown = append(found.Unknown, path)
		default:
			all[path] = name
			found.Blobs++
			found.Bytes += info.Size()
		}
	}
	blobs, err := os.ReadDir(filepath.Join(r.Dir, "blobs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range blobs {
		if !strings.Contains(e.Name(), ".") { // else unfinished, or a lock
			add(filepath.Join(r.Dir, "blobs", e.Name()), e.Name())
		}
	}
	for _, revision := range r.Revisions {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		dir := filepath.Join(r.Dir, "snapshots", revision.Commit)
		files, err := snapshotFiles(dir)
		if err != nil {
			return nil, err
		}
		list, err := readTree(r.Dir, revision.Commit)
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			in, err := filepath.Rel(dir, path)
			if err != nil {
				return nil, err
			}
			add(path, list[filepath.ToSlash(in)].blob())
		}
	}
	return all, nil
}

// repo finds a repository in the cache.
func (c Cache) repo(name string) (Repo, error) {
	folder, err := folderName(name)
	if err != nil {
		return Repo{}, err
	}
	dir := filepath.Join(c.Dir, folder)
	info, err := os.Stat(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Repo{}, fmt.Errorf("read the Hugging Face cache: %w", err)
	}
	if err != nil || !info.IsDir() {
		return Repo{}, sdk.Errorf(sdk.NotFound, "%s is not in the Hugging Face cache %s", name, c.Dir)
	}
	repo, err := readRepo(name, dir)
	if err != nil {
		return repo, fmt.Errorf("read the Hugging Face cache: %w", err)
	}
	return repo, nil
}
