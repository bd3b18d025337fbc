package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/transfer"
)

// job is the download of one model into a folder of the cache.
//
//	<final>                all files, there only when they are complete and verified
//	<final>.partial/files  what package transfer makes of them until then
//	<final>.lock           held by the process that works on it
type job struct {
	source
	final string
	Options
}

var errNoCache = errors.New("fetch: Options.CacheDir is empty; name a private folder for downloaded models")

// downloaded finds a model that is in the cache already. Nobody has to be asked where its
// files are.
func downloaded(s source, o Options) (dir string, ok bool) {
	if o.CacheDir == "" {
		return "", false
	}
	final, err := s.cachePath(o.CacheDir)
	return final, err == nil && (&job{source: s, final: final}).complete(final)
}

func download(ctx context.Context, s source, o Options) (string, error) {
	if o.CacheDir == "" {
		return "", errNoCache
	}
	final, err := s.cachePath(o.CacheDir)
	if err != nil {
		return "", err
	}
	j := &job{source: s, final: final, Options: o}
	if j.complete(final) {
		return final, nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return "", err
	}
	lock, err := state.Acquire(ctx, final+".lock")
	if err != nil {
		return "", fmt.Errorf("model %s: %w", s.model.Name, err)
	}
	defer lock.Remove()
	if j.complete(final) { // somebody else did the work meanwhile
		return final, nil
	}
	return final, j.run(ctx)
}

// complete reports whether a folder holds all files in their sizes. Contents were
// verified before it got its name.
func (j *job) complete(dir string) bool {
	for _, f := range j.model.Files {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
			return false
		}
	}
	return true
}

func (j *job) files() string { return filepath.Join(j.final+".partial", "files") }

func (j *job) run(ctx context.Context) error {
	var plan []transfer.File
	for _, f := range j.model.Files {
		plan = append(plan, transfer.File{Path: f.Path, Size: f.Size, SHA256: f.SHA256, GitSHA1: f.GitSHA1})
	}
	o := j.transfer()
	o.Dir, o.Exclusive = j.files(), true
	o.Renew = func(ctx context.Context, f transfer.File) (transfer.Source, error) { return j.address(ctx, f.Path) }
	if err := transfer.Download(ctx, plan, o); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("model %s: %w", j.model.Name, err)
	}
	return j.publish()
}

// publish gives the complete folder its name in one step. A folder that has it already lacks
// files, which somebody has taken out: it gets these one by one, because a running sandbox may
// be shown it.
func (j *job) publish() error {
	err := os.Rename(j.files(), j.final)
	if errors.Is(err, fs.ErrExist) {
		err = j.complement()
	}
	if err != nil {
		return err
	}
	return errors.Join(state.SyncDir(filepath.Dir(j.final)), os.RemoveAll(j.final+".partial"))
}

// complement moves the files into the folder that is there.
func (j *job) complement() error {
	for _, f := range j.model.Files {
		to := filepath.Join(j.final, filepath.FromSlash(f.Path))
		if info, err := os.Lstat(to); err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(j.files(), filepath.FromSlash(f.Path)), to); err != nil {
			return err
		}
	}
	return state.SyncDir(j.final)
}
