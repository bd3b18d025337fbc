package hubcache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/sdk"
)

// Verified is what [Cache.Verify] found in a repository.
type Verified struct {
	Name    string
	Blobs   int      // that were read
	Bytes   int64    // of these
	Wrong   []string // paths of blobs with another content than their names promise
	Broken  []string // files of snapshots whose content is missing
	Unknown []string // blobs whose names promise nothing that is known here
}

// Verify reads all blobs of a repository, several at once, and compares them with their
// names. What is remembered of them does not count.
func (c Cache) Verify(ctx context.Context, name string) (Verified, error) {
	found := Verified{Name: name}
	repo, err := c.repo(name)
	if err != nil {
		return found, err
	}
	for _, r := range repo.Revisions {
		found.Broken = append(found.Broken, r.Broken...)
	}
	entries, err := os.ReadDir(filepath.Join(repo.Dir, "blobs"))
	if err != nil {
		return found, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range entries {
		path := filepath.Join(repo.Dir, "blobs", e.Name())
		info, err := os.Stat(path)
		switch {
		case strings.Contains(e.Name(), "."): // unfinished, or a lock
			continue
		case err != nil:
			found.Broken = append(found.Broken, path)
			continue
		case !sha256.MatchString(e.Name()) && !commit.MatchString(e.Name()):
			found.Unknown = append(found.Unknown, path)
			continue
		}
		found.Blobs++
		found.Bytes += info.Size()
		group.Go(func() error {
			sum, err := hashFile(ctx, e.Name(), path)
			if err == nil && sum == e.Name() {
				return c.notes().remember(e.Name(), path)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				found.Wrong = append(found.Wrong, path)
			}
			return err
		})
	}
	err = group.Wait()
	slices.Sort(found.Wrong)
	return found, err
}

// repo finds a repository in the cache.
func (c Cache) repo(name string) (Repo, error) {
	folder, err := folderName(name)
	if err != nil {
		return Repo{}, err
	}
	dir := filepath.Join(c.Dir, folder)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Repo{}, sdk.Errorf(sdk.NotFound, "%s is not in the Hugging Face cache %s", name, c.Dir)
	}
	repo, err := readRepo(name, dir)
	if err != nil {
		return repo, fmt.Errorf("read the Hugging Face cache: %w", err)
	}
	return repo, nil
}
