// Package transfer moves the files of models to a folder. It is the one mover, of the
// engine and of the runtime on a machine alike: it knows addresses, ranges and digests,
// and no source of models.
//
// A file gets its name when all of it is on disk and verified. Until then it is
// NAME.incomplete, and NAME.incomplete.ranges records which of its bytes are on disk, so
// that another process, or another machine that sees the folder, continues the work.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
)

// Options configure [Download].
type Options struct {
	Dir    string       // where the files go; it is made if it is missing
	Client *http.Client // nil = one with the system's proxy settings

	// Renew returns a new source of a file whose addresses have expired, or that had none.
	// It is called for several files at once. Without it, an expired address ends the
	// download with a [*PausedError].
	Renew func(ctx context.Context, f File) (Source, error)

	// Progress is called from one goroutine, at most ten times a second and at the end.
	Progress func(Progress)

	// Doubt has files that are in the folder already verified before they count: somebody else
	// may have written them. Otherwise a file of the right size is taken for what an earlier
	// download has verified.
	Doubt bool

	// Exclusive says that the caller holds a lock that keeps other processes from these files.
	// Otherwise each file has a lock of its own.
	Exclusive bool

	Files int           // in work at once; default 16
	Tries int           // faults before the first byte of a file that end the download; default 8
	Stall time.Duration // a connection without a byte for so long is replaced; default 30 s

	clock clock                             // nil = the system's
	block int64                             // 0 = defaultBlock
	free  func(dir string) (float64, error) // bytes that are free; nil = what the system says
}

// run is one call of Download.
type run struct {
	Options
	client *http.Client
	pool   *pool
	meter  *meter

	first int // connections to a host at the beginning

	mu    sync.Mutex
	hosts map[string]*host
	dirs  map[string]bool // to be synced at the end, once

	verified      []*file // small ones that wait for their names
	verifiedBytes int64
}

// Download brings all files of a plan into the folder. It continues what earlier calls
// have left, and shares the work with other processes that download into the same folder.
// The first error that cannot be mended ends it; what has arrived is kept. Errors are
// [*state.NoSpaceError] if the disk is full, [*PausedError], one that matches
// [ErrMismatch], or have one of the sdk's codes.
func Download(ctx context.Context, files []File, o Options) error {
	if err := checkPlan(files, o.Renew != nil); err != nil {
		return err
	}
	if o.clock == nil {
		o.clock = systemClock{}
	}
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.block == 0 {
		o.block = defaultBlock
	}
	if o.free == nil {
		o.free = freeSpace
	}
	if o.Files <= 0 {
		o.Files = maxPerHost
	}
	if o.Tries <= 0 {
		o.Tries = maxTries
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return state.NoSpace(o.Dir, err)
	}
	r := &run{Options: o, client: httpClient(o.Client), pool: newPool(), first: connectionsFor(files), hosts: map[string]*host{}, dirs: map[string]bool{}}
	if err := r.checkSpace(files); err != nil {
		return err
	}
	r.meter = newMeter(o.Progress, o.clock, total(files))
	r.meter.start()
	defer r.meter.stop()
	if _, own := r.client.Transport.(*http.Transport); own {
		defer r.client.CloseIdleConnections()
	}
	return errors.Join(r.all(ctx, files), r.syncDirs())
}

// bring downloads a file. Its lock, which may be nil, is let go of when the file has its name.
func (r *run) bring(ctx context.Context, f File, lock *state.Lock) error {
	n := r.newFile(f)
	n.lock = lock
	if err := n.download(ctx); err != nil || n.data == nil {
		n.close()
		return f.failed(err)
	}
	if f.Size >= r.block {
		defer n.close()
		return f.failed(n.publish())
	}
	return r.publishLater(n)
}

// failed names the file in an error that does not.
func (f File) failed(err error) error {
	var paused *PausedError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &paused) {
		return err
	}
	return fmt.Errorf("download %s: %w", f.name(), err)
}

// syncLater has the names of files in a folder be on the disk at the end.
func (r *run) syncLater(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirs[dir] = true
}

func (r *run) syncDirs() error {
	for dir := range r.dirs {
		if err := state.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// all downloads first what no other process works on, and then waits for the others: what
// they have not finished when they end is done here.
func (r *run) all(ctx context.Context, files []File) error {
	var mu sync.Mutex
	var held []File
	err := r.each(ctx, files, func(ctx context.Context, f File) error {
		lock, taken, err := r.tryLock(f)
		if err != nil {
			return f.failed(err)
		}
		if taken {
			mu.Lock()
			defer mu.Unlock()
			held = append(held, f)
			return nil
		}
		return r.bring(ctx, f, lock)
	})
	if err := errors.Join(err, r.publishAll()); err != nil {
		return err
	}
	err = r.each(ctx, held, func(ctx context.Context, f File) error {
		lock, err := state.Acquire(ctx, r.path(f)+lockSuffix)
		if err != nil {
			return f.failed(err)
		}
		return r.bring(ctx, f, lock)
	})
	return errors.Join(err, r.publishAll())
}

func (r *run) tryLock(f File) (*state.Lock, bool, error) {
	if err := os.MkdirAll(filepath.Dir(r.path(f)), 0o700); err != nil {
		return nil, false, state.NoSpace(r.path(f), err)
	}
	if r.Exclusive {
		return nil, false, nil
	}
	return state.TryAcquire(r.path(f) + lockSuffix)
}

func (r *run) each(ctx context.Context, files []File, do func(context.Context, File) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(r.Files)
	for _, f := range files {
		group.Go(func() error {
			if groupCtx.Err() != nil {
				return groupCtx.Err()
			}
			return do(groupCtx, f)
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (r *run) path(f File) string { return filepath.Join(r.Dir, filepath.FromSlash(f.Path)) }

func (r *run) host(u *url.URL) *host {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	if r.hosts[key] == nil {
		r.hosts[key] = newHost(r.clock, r.first)
	}
	return r.hosts[key]
}

// checkSpace compares what is missing with what is free.
func (r *run) checkSpace(files []File) error {
	var need float64 // sizes of a wrong plan may add up to more than an int64
	for _, f := range files {
		if !r.complete(f) {
			need += float64(f.Size - min(f.Size, allocated(r.path(f)+incomplete)))
		}
	}
	free, err := r.free(r.Dir)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", r.Dir, err)
	}
	if need > free {
		return fmt.Errorf("the download needs %.0f MB more in %s, where %.0f MB are free; free some space or choose another folder: %w",
			math.Ceil(need/1e6), r.Dir, math.Floor(free/1e6), state.ErrNoSpace)
	}
	return nil
}

func freeSpace(dir string) (float64, error) {
	var fs unix.Statfs_t
	err := unix.Statfs(dir, &fs)
	return float64(fs.Bavail) * float64(fs.Bsize), err
}

// allocated is what a file takes on the disk, without its holes.
func allocated(path string) int64 {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0
	}
	return st.Blocks * 512
}

func total(files []File) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}
