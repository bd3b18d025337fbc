package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Removal is what [Manager.Remove] removes of one model in one cache.
type Removal struct {
	Model
	// All says that nothing of the model stays, also of what downloads have left.
	All bool
}

// Removed is what was removed.
type Removed struct {
	Name      string   `json:"name"`
	Where     string   `json:"where"`
	Revisions []string `json:"revisions"`
	Bytes     int64    `json:"bytes"` // that the disk has gained
}

// shortCommit is how many characters name a commit at least.
const shortCommit = 7

// FindRemoval finds what a name stands for: all of a model, or with a revision that alone. A
// revision is a branch, a tag, or an unambiguous beginning of a commit. A model that a live
// sandbox uses is [errdefs.KindConflict], one that is not here [errdefs.KindNotFound].
func (m *Manager) FindRemoval(ctx context.Context, ref sdk.ModelRef) ([]Removal, error) {
	name := Name(ref.Source, ref.Name)
	all, listErr := m.List(ctx)
	var found []Removal
	var users []string
	for _, model := range all {
		if model.Name != name {
			continue
		}
		r := Removal{Model: model, All: true}
		if ref.Revision != "" {
			named, err := model.named(ref.Revision)
			if err != nil {
				return nil, err
			}
			r.All = len(named) == len(model.Revisions) && len(named) > 0
			if r.Revisions = named; len(named) == 0 {
				continue
			}
		}
		for _, revision := range r.Revisions {
			users = append(users, revision.Sandboxes...)
		}
		found = append(found, r)
	}
	slices.Sort(users)
	switch {
	case len(users) > 0:
		return nil, &errdefs.Error{Kind: errdefs.KindConflict, Err: fmt.Errorf("%s is in use by %s; end that first", name, strings.Join(slices.Compact(users), ", "))}
	case len(found) > 0:
		return found, nil
	case listErr != nil:
		return nil, listErr
	case ref.Revision != "":
		return nil, sdk.Errorf(sdk.NotFound, "%s has no revision %.60q on this computer", name, ref.Revision)
	}
	return nil, sdk.Errorf(sdk.NotFound, "%s is not on this computer", name)
}

// named are the revisions that a name stands for.
func (m Model) named(revision string) ([]Revision, error) {
	var found []Revision
	for _, r := range m.Revisions {
		if r.Revision == revision || slices.Contains(r.Refs, revision) {
			return []Revision{r}, nil
		}
		if len(revision) >= shortCommit && strings.HasPrefix(r.Revision, revision) {
			found = append(found, r)
		}
	}
	if len(found) > 1 {
		return nil, sdk.Errorf(sdk.Invalid, "%q is the beginning of %d commits of %s; write more of it", revision, len(found), m.Name)
	}
	return found, nil
}

// Remove removes what [Manager.FindRemoval] has found. What other revisions share stays.
func (m *Manager) Remove(ctx context.Context, r Removal) (Removed, error) {
	gone := Removed{Name: r.Name, Where: r.Where, Revisions: []string{}}
	cache, err := m.cache()
	if err != nil {
		return gone, err
	}
	for _, revision := range r.Revisions {
		gone.Revisions = append(gone.Revisions, revision.Revision)
	}
	if r.Where == InHub {
		gone.Bytes, err = removeFromHub(ctx, cache, r)
		return gone, err
	}
	var errs []error
	for _, revision := range r.Revisions {
		freed, err := removeOwn(ctx, revision.Dir)
		gone.Bytes, errs = gone.Bytes+freed, append(errs, err)
	}
	if r.All {
		for _, left := range r.Incomplete {
			freed, err := removeOwn(ctx, strings.TrimSuffix(left.Path, partialSuffix))
			gone.Bytes, errs = gone.Bytes+freed, append(errs, err)
		}
		_ = os.Remove(r.Dir) // of the Hub, it may have other views
	}
	return gone, errors.Join(errs...)
}

func removeFromHub(ctx context.Context, cache hubcache.Cache, r Removal) (freed int64, err error) {
	if r.All {
		return cache.Remove(ctx, r.Name, "")
	}
	for _, revision := range r.Revisions {
		n, err := cache.Remove(ctx, r.Name, revision.Revision)
		if freed += n; err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// removeOwn removes a revision from the engine's own cache, or what is left of its download.
// It waits for a download of the revision.
func removeOwn(ctx context.Context, dir string) (freed int64, err error) {
	lock, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return 0, err
	}
	defer lock.Remove()
	for _, path := range []string{dir, dir + partialSuffix} {
		found, err := measure(path)
		if err != nil {
			return freed, err
		}
		at, linked := filepath.EvalSymlinks(path)
		if linked == nil && at != path {
			err = state.RemoveAll(at)
		}
		if err = errors.Join(err, state.RemoveAll(path)); err != nil {
			return freed, err
		}
		freed += found.alone
	}
	return freed, nil
}
