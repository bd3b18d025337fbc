package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// job is the download of one model into a folder of the cache.
//
//	<final>          all files, there only when they are complete and verified
//	<final>.partial  files/ with verified files, parts/ with pieces
//	<final>.lock     held by the process that works on it
type job struct {
	source
	final    string
	client   *http.Client
	stall    time.Duration
	progress *progress
}

func download(ctx context.Context, s source, o Options) (string, error) {
	if o.CacheDir == "" {
		return "", errors.New("fetch: Options.CacheDir is empty; name a private folder for downloaded models")
	}
	final, err := cachePath(o.CacheDir, s.model)
	if err != nil {
		return "", err
	}
	j := &job{source: s, final: final, client: httpClient(o.Client), stall: o.Stall, progress: newProgress(o.Progress, s.model.Bytes)}
	if j.stall <= 0 {
		j.stall = time.Minute
	}
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
	return final, j.run(ctx, o.Parallel)
}

// complete reports whether a folder holds all files in their sizes. Contents were
// verified before it got its name.
func (j *job) complete(dir string) bool {
	for _, f := range j.model.Files {
		if !hasSize(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Size) {
			return false
		}
	}
	return true
}

func hasSize(path string, size int64) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

func (j *job) files() string { return filepath.Join(j.final+".partial", "files") }

// part is where a file's bytes gather. Its name says what they should become, so
// that a part is never continued with something else.
func (j *job) part(f sdk.ModelFile) string {
	sum := sha256.Sum256([]byte(f.Path + "\x00" + f.SHA256 + "\x00" + f.GitSHA1))
	return filepath.Join(j.final+".partial", "parts", hex.EncodeToString(sum[:16]))
}

func (j *job) run(ctx context.Context, parallel int) error {
	if parallel <= 0 {
		parallel = 4
	}
	for _, dir := range []string{j.files(), filepath.Dir(j.part(sdk.ModelFile{}))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := j.checkSpace(); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, f := range j.model.Files {
		group.Go(func() error { return j.file(groupCtx, f) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	j.progress.end()
	return j.publish()
}

// publish gives the complete folder its name in one step.
func (j *job) publish() error {
	// A folder that is there already is incomplete: somebody took files out.
	if err := os.RemoveAll(j.final); err != nil {
		return err
	}
	if err := os.Rename(j.files(), j.final); err != nil {
		return err
	}
	return os.RemoveAll(j.final + ".partial")
}

func (j *job) checkSpace() error {
	need := j.model.Bytes
	for _, f := range j.model.Files {
		for _, path := range []string{j.part(f), filepath.Join(j.files(), filepath.FromSlash(f.Path))} {
			if info, err := os.Lstat(path); err == nil {
				need -= min(info.Size(), f.Size)
			}
		}
	}
	free, err := freeBytes(filepath.Dir(j.final))
	if err != nil {
		return err
	}
	if need > free {
		return fmt.Errorf("model %s needs %d MB more in %s, where %d MB are free; free some space or choose another cache folder: %w",
			j.model.Name, need/1e6, filepath.Dir(j.final), free/1e6, state.ErrNoSpace)
	}
	return nil
}

// file brings one file to its place, unless it is there.
func (j *job) file(ctx context.Context, f sdk.ModelFile) error {
	target := filepath.Join(j.files(), filepath.FromSlash(f.Path))
	if hasSize(target, f.Size) {
		j.progress.add(f.Size)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if err := j.attempts(ctx, f); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("model %s: download %s: %w", j.model.Name, f.Path, err)
	}
	if err := os.Rename(j.part(f), target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !hasSize(target, f.Size) {
		return fmt.Errorf("model %s: %s vanished while it was being stored", j.model.Name, target)
	}
	return nil
}
