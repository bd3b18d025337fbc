package hubcache

import (
	"cmp"
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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/sdk"
)

// Request is a model that is wanted.
type Request struct {
	Name      string // as the user wrote it; org/name or datasets/org/name
	Canonical string // as the Hub calls it now
	Revision  string // as the user wrote it; empty = main
	Commit    string // that it was resolved to
	Files     []sdk.ModelFile
	// Others are the files of the commit that are not wanted. Part names the choice of files,
	// if there may be more than these two lists have; it ends the name of the view.
	Others []sdk.ModelFile
	Part   string

	View string // the folder that is to be the view; empty = one in the engine's cache

	// Locate says where a file is now, by its path in the model.
	Locate func(ctx context.Context, path string) (transfer.Source, error)
	// Transfer is how missing files are downloaded. Dir and Renew are set by this package.
	Transfer transfer.Options
	// Notify receives what the user should know; it may be called from several goroutines;
	// nil = nobody.
	Notify func(Notice)
}

// Notice is something that the user should know.
type Notice struct {
	Kind  Kind
	Path  string // the file or folder that it is about
	Bytes int64  // of Copied
}

// Kind is the kind of a notice.
type Kind int

// The kinds of notices.
const (
	Mismatch Kind = iota + 1 // a blob has not the content that its name promises, and is not used
	ReadOnly                 // the Hub's cache cannot be written, so that missing files go to the engine's
	Copied                   // files cannot be linked, and were copied
)

// blob is a content that is wanted.
type blob struct {
	name string
	file sdk.ModelFile // one that has this content
	at   string        // where the verified content is; empty = it has to be downloaded
	// wrong are places with another content, which the user was told of.
	wrong []string
}

// job is one call of Store.
type job struct {
	Cache
	Request
	repo     string   // the repository's folder, which is written
	repos    []string // folders of the repository that are read
	view     string
	writable bool
	names    []string // of blobs, in the order of the files
	blobs    map[string]*blob
}

// Store brings a model into the Hub's cache, as far as it is not there, and returns a folder
// of plain files, the view. It continues what earlier calls have left. Processes that want
// the same share the work, the Hub's own clients among them. Errors are those of
// [transfer.Download].
func (c Cache) Store(ctx context.Context, r Request) (string, error) {
	j, err := c.newJob(r)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(j.view), 0o700); err != nil {
		return "", state.NoSpace(j.view, err)
	}
	lock, err := state.Acquire(ctx, j.view+".lock")
	if err != nil {
		return "", fmt.Errorf("model %s: %w", r.Name, err)
	}
	defer lock.Remove()
	ready, err := j.viewReady(ctx)
	if err != nil {
		return "", err
	}
	if !ready {
		if err := j.bring(ctx); err != nil {
			return "", err
		}
	}
	dir, err := filepath.EvalSymlinks(j.view)
	if err != nil {
		return "", err
	}
	now := time.Now() // when it was used last
	return dir, os.Chtimes(dir, now, now)
}

func (c Cache) newJob(r Request) (*job, error) {
	folder, err := folderName(r.Name)
	if err != nil {
		return nil, err
	}
	other, err := folderName(r.Canonical)
	if err != nil {
		return nil, err
	}
	if !Fits(r.Commit, r.Files) {
		return nil, sdk.Errorf(sdk.Invalid, "model %s: its commit or the hash of a file is missing", r.Name)
	}
	if r.Notify == nil {
		r.Notify = func(Notice) {}
	}
	j := &job{Cache: c, Request: r, view: cmp.Or(r.View, c.viewPath(r.Canonical, viewName(r.Commit, r.Part))), blobs: map[string]*blob{}}
	j.repos = []string{filepath.Join(c.Dir, folder)}
	if other != folder {
		j.repos = append(j.repos, filepath.Join(c.Dir, other))
	}
	// A client that was given the present name of a renamed repository has made that folder.
	j.repo = j.repos[0]
	if _, err := os.Lstat(j.repo); err != nil && len(j.repos) > 1 {
		if _, err := os.Lstat(j.repos[1]); err == nil {
			j.repo = j.repos[1]
		}
	}
	for _, f := range r.Files {
		name := blobName(f)
		if known := j.blobs[name]; known != nil && known.file.Size != f.Size {
			return nil, sdk.Errorf(sdk.Internal, "model %s: %s and %s have one hash and two sizes", r.Name, known.file.Path, f.Path)
		}
		if j.blobs[name] == nil {
			j.names = append(j.names, name)
			j.blobs[name] = &blob{name: name, file: f}
		}
	}
	return j, nil
}

// bring makes the view, and downloads what it takes.
func (j *job) bring(ctx context.Context) error {
	if err := j.find(ctx); err != nil {
		return err
	}
	j.writable = canWrite(filepath.Join(j.repo, "blobs"))
	if err := j.checkCase(); err != nil {
		return err
	}
	if err := j.download(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("model %s: %w", j.Name, err)
	}
	if j.writable {
		if err := j.publish(); err != nil {
			return fmt.Errorf("model %s: write the Hugging Face cache: %w", j.Name, state.NoSpace(j.repo, err))
		}
	}
	if err := j.makeView(ctx); err != nil {
		return fmt.Errorf("model %s: %w", j.Name, state.NoSpace(j.view, err))
	}
	// The view may be all that holds a blob of a folder that cannot be written.
	if err := os.RemoveAll(j.partial()); err != nil {
		return err
	}
	for _, f := range j.Files { // links have changed the time of the files
		if err := j.notes().remember(blobName(f), j.inView(f)); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) partial() string { return j.view + ".partial" }

// find looks for all blobs, several at once as they may have to be read.
func (j *job) find(ctx context.Context) error {
	var mu sync.Mutex
	var found, total int64
	for _, b := range j.blobs {
		total += b.file.Size
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range j.names {
		b := j.blobs[name]
		group.Go(func() error {
			err := j.findOne(ctx, b)
			mu.Lock()
			defer mu.Unlock()
			if b.at != "" && j.Transfer.Progress != nil {
				found += b.file.Size
				j.Transfer.Progress(transfer.Progress{Done: found, Total: total})
			}
			return err
		})
	}
	return group.Wait()
}

func (j *job) findOne(ctx context.Context, b *blob) error {
	for _, path := range j.places(b) {
		found, err := j.notes().look(ctx, b.name, b.file.Size, path)
		if err != nil {
			return err
		}
		if found == right {
			b.at = path
			return nil
		}
		if found == wrong && !slices.Contains(b.wrong, path) {
			b.wrong = append(b.wrong, path)
			j.Notify(Notice{Kind: Mismatch, Path: path})
		}
	}
	return nil
}

// places are where the content of a blob may be. A client that cannot make links puts the
// file itself into the snapshot.
func (j *job) places(b *blob) []string {
	var all []string
	for _, repo := range j.repos {
		all = append(all, filepath.Join(repo, "blobs", b.name))
		snapshot := filepath.Join(repo, "snapshots", j.Commit, filepath.FromSlash(b.file.Path))
		if info, err := os.Lstat(snapshot); err == nil && info.Mode().IsRegular() {
			all = append(all, snapshot)
		}
	}
	view := j.inView(b.file)
	if _, err := os.Lstat(view); err == nil && !slices.ContainsFunc(all, func(path string) bool { return same(path, view) }) {
		all = append(all, view)
	}
	return all
}

// canWrite reports whether files can be made and locked in a folder, which is made if it is
// missing. A full disk is found later.
func canWrite(dir string) bool {
	if os.MkdirAll(dir, 0o777) != nil {
		return false
	}
	lock, _, err := state.TryAcquire(spare(dir))
	if lock != nil {
		lock.Remove()
	}
	return err == nil || errors.Is(err, state.ErrNoSpace)
}

// checkCase refuses names that are one name to the file system.
func (j *job) checkCase() error {
	folds := j.folds
	if folds == nil {
		folds = foldsCase
	}
	seen := map[string]string{}
	for _, f := range j.Files {
		folded := strings.ToLower(strings.ToUpper(f.Path))
		other, taken := seen[folded]
		seen[folded] = f.Path
		if !taken {
			continue
		}
		for _, dir := range []string{filepath.Dir(j.view), filepath.Join(j.repo, "blobs")} {
			if folds(dir) {
				return sdk.Errorf(sdk.Unsupported, "model %s: %q and %q are one name in %s; leave out one of them", j.Name, other, f.Path, dir)
			}
		}
	}
	return nil
}

func foldsCase(dir string) bool {
	path := spare(dir)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return false
	}
	defer os.Remove(path)
	_, err := os.Lstat(filepath.Join(dir, strings.ToUpper(filepath.Base(path))))
	return !errors.Is(err, fs.ErrNotExist)
}
