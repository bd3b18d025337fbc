package hubcache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/transfer"
)

const (
	working = ".seer" // ends the name of a blob that is not verified yet
	batch   = 256     // downloads whose locks are held at once
)

// fetch is a download of blobs into one folder.
type fetch struct {
	*job
	dir         string
	found, size int64 // bytes that were there before, and of all blobs
}

// download brings what is missing: first what no other program downloads, and then what the
// others have not finished.
func (j *job) download(ctx context.Context) error {
	f := &fetch{job: j, dir: filepath.Join(j.repo, "blobs")}
	var missing []*blob
	for _, name := range j.names {
		b := j.blobs[name]
		f.size += b.file.Size
		if b.at == "" {
			missing = append(missing, b)
			continue
		}
		f.found += b.file.Size
	}
	if len(missing) == 0 {
		return nil
	}
	if !j.writable {
		j.Notify(Notice{Kind: ReadOnly, Path: j.Dir})
		f.dir = filepath.Join(j.partial(), "blobs")
		return f.get(ctx, missing, true) // as the view is locked
	}
	if err := f.prepare(); err != nil {
		return err
	}
	var others []*blob
	for from := 0; from < len(missing); from += batch {
		held, err := f.batch(ctx, missing[from:min(from+batch, len(missing))])
		if err != nil {
			return err
		}
		others = append(others, held...)
	}
	for _, b := range others {
		if err := f.afterOther(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes what every client makes in a cache.
func (f *fetch) prepare() error {
	tag := filepath.Join(f.Dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(tag); errors.Is(err, fs.ErrNotExist) {
		text := "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of the Hugging Face Hub. See https://bford.info/cachedir/\n"
		if err := os.WriteFile(tag, []byte(text), 0o644); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if err := os.MkdirAll(f.locks(), 0o777); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

func (f *fetch) locks() string { return filepath.Join(f.Dir, ".locks", filepath.Base(f.repo)) }

// lockFile makes the file of a lock, which all who share the cache have to open. It stays:
// the Hub's clients rely on that.
func (f *fetch) lockFile(b *blob) string {
	path := filepath.Join(f.locks(), b.name+".lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o664)
	if err == nil {
		_ = file.Chmod(0o664) // as the Hub's clients do; the umask may have closed it to the group
		_ = file.Close()
	}
	return path
}

// batch downloads what no other program is at work on, and returns the rest.
func (f *fetch) batch(ctx context.Context, blobs []*blob) (others []*blob, err error) {
	var free []*blob
	exclusive := true
	for _, b := range blobs {
		lock, held, err := state.TryAcquire(f.lockFile(b))
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			// The lock is for the Hub's clients alone, and to save them work: each has its own
			// working file.
			exclusive = false
		case err != nil:
			return nil, err
		case held:
			others = append(others, b)
			continue
		default:
			defer lock.Release()
			// Another program may have brought it since it was looked for.
			if err := f.findOne(ctx, b); err != nil {
				return nil, err
			}
		}
		if b.at != "" {
			f.found += b.file.Size
			continue
		}
		free = append(free, b)
	}
	return others, f.get(ctx, free, exclusive)
}

// afterOther waits until another program has ended its download of a blob, and downloads it
// if it has not succeeded.
func (f *fetch) afterOther(ctx context.Context, b *blob) error {
	lock, err := state.Acquire(ctx, f.lockFile(b))
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := f.findOne(ctx, b); err != nil || b.at != "" {
		return err
	}
	return f.get(ctx, []*blob{b}, true)
}

// get downloads blobs and gives them their names. What had the name of one is replaced then.
// Exclusive says that their locks are held.
func (f *fetch) get(ctx context.Context, blobs []*blob, exclusive bool) error {
	byName := map[string]*blob{}
	var plan []transfer.File
	var want int64
	for _, b := range blobs {
		byName[b.name+working] = b
		plan = append(plan, transfer.File{Path: b.name + working, Name: b.file.Path, Size: b.file.Size, SHA256: b.file.SHA256, GitSHA1: b.file.GitSHA1})
		want += b.file.Size
	}
	o := f.Transfer
	o.Dir, o.Exclusive = f.dir, exclusive
	o.Renew = func(ctx context.Context, file transfer.File) (transfer.Source, error) {
		return f.Locate(ctx, byName[file.Path].file.Path)
	}
	if o.Progress != nil {
		o.Progress = func(p transfer.Progress) {
			p.Done, p.Total = p.Done+f.found, f.size
			p.Left = p.LeftOf(p.Total - p.Done)
			f.Transfer.Progress(p)
		}
	}
	if len(plan) == 0 {
		return nil
	}
	if err := transfer.Download(ctx, plan, o); err != nil {
		return err
	}
	f.found += want
	perm, err := mode(f.dir)
	if err != nil {
		return state.NoSpace(f.dir, err)
	}
	for _, b := range blobs {
		b.at = filepath.Join(f.dir, b.name)
		if err := errors.Join(os.Chmod(b.at+working, perm), os.Rename(b.at+working, b.at)); err != nil {
			return err
		}
	}
	return state.SyncDir(f.dir)
}
