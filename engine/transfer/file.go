package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/state"
)

// file is the download of one file. Its lock is held by this process.
//
//	NAME                    only when it is complete and verified
//	NAME.incomplete         its bytes, each where it belongs
//	NAME.incomplete.ranges  which of them are on disk; see sidecar
//	NAME.lock               held by the process that works on it
type file struct {
	File
	run     *run
	path    string
	lock    *state.Lock // nil = the caller has one
	data    *os.File    // nil = nothing has to be done
	sidecar *sidecar

	mu      sync.Mutex
	changed *sync.Cond
	written ranges // in the file
	claimed ranges // written, or asked for
	empty   bool   // the content of an empty file was asked for
	onDisk  int64  // how many of the written bytes are recorded as on the disk
	noted   int64  // how many are recorded as written
	flights map[*job]bool
	whole   bool // the server sends nothing but whole files
	known   bool // the source has answered: it leads somewhere, and to whom it should
	compare bool // what is written was wrong as a whole
	failed  time.Time
	tries   int // faults since the last byte

	renewal    chan struct{} // full while somebody renews the source
	source     Source
	generation int            // of source
	renewed    int            // renewals since the last byte
	direct     map[int]string // where the redirects of a fetch have led to
}

func (r *run) newFile(f File) *file {
	n := &file{File: f, run: r, path: r.path(f), source: f.Source, renewal: make(chan struct{}, 1), flights: map[*job]bool{}}
	n.changed = sync.NewCond(&n.mu)
	n.sidecar = newSidecar(n.path+incomplete+sidecarSuffix, f)
	return n
}

// complete reports whether the file is there. It was verified before it got its name.
func (r *run) complete(f File) bool {
	info, err := os.Lstat(r.path(f))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.Size
}

// there reports whether the file needs no download. One that is doubted, and is not what was
// promised, stays until it is replaced.
func (f *file) there(ctx context.Context) (bool, error) {
	if !f.run.complete(f.File) || !f.run.Doubt {
		return f.run.complete(f.File), nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	s := newSums(f.File)
	if s.sha256 == nil && s.git == nil {
		return false, nil
	}
	buf, err := f.run.pool.get(ctx)
	if err != nil {
		return false, err
	}
	defer f.run.pool.put(buf)
	for ctx.Err() == nil {
		n, err := in.Read(buf)
		s.write(buf[:n])
		if errors.Is(err, io.EOF) {
			return s.verify() == nil, nil
		}
		if err != nil {
			return false, fmt.Errorf("verify %s: %w", f.path, err)
		}
	}
	return false, ctx.Err()
}

// download brings the bytes of the file, and verifies them. What is left to do is publish.
func (f *file) download(ctx context.Context) error {
	there, err := f.there(ctx)
	if err != nil {
		return err
	}
	if there {
		f.run.meter.found(f.Size)
		return errors.Join(removeIfThere(f.path+incomplete), f.sidecar.remove())
	}
	if err := f.open(); err != nil {
		return err
	}
	err = f.round(ctx)
	if errors.Is(err, ErrMismatch) {
		if err = f.forget(); err == nil {
			err = f.round(ctx)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrMismatch):
		return errors.Join(fmt.Errorf("%w; it was downloaded twice, and removed", err), f.sidecar.remove(), os.Remove(f.path+incomplete))
	}
	return errors.Join(err, f.keep())
}

// open continues what an earlier process has left, if it was the same file.
func (f *file) open() error {
	name := f.path + incomplete
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	data, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	f.data = data
	return f.resume()
}

// close lets go of the file and its lock.
func (f *file) close() {
	f.sidecar.close()
	if f.data != nil {
		_ = f.data.Close() // what counts has been synced
	}
	if f.lock != nil {
		f.lock.Remove()
	}
}

func (f *file) resume() error {
	info, err := f.data.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; remove it", f.data.Name())
	}
	if err := f.sidecar.load(); err != nil {
		return err
	}
	keep := min(info.Size(), f.Size)
	if len(f.sidecar.known()) == 0 {
		keep = 0
	}
	lost := span{keep, max(keep, f.Size, info.Size())}
	f.sidecar.recorded.remove(lost)
	f.sidecar.noted.remove(lost)
	f.written = f.sidecar.known()
	f.claimed = slices.Clone(f.written)
	f.onDisk, f.noted = f.sidecar.recorded.bytes(), f.written.bytes()
	f.run.meter.found(f.written.bytes())
	if info.Size() == keep {
		return nil
	}
	return f.data.Truncate(keep)
}

// round downloads what is missing, and verifies the file.
func (f *file) round(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed.Broadcast()
	})()
	for range min(maxPerHost, 1+f.Size/f.run.block) {
		group.Go(func() error { return f.work(ctx) })
	}
	group.Go(func() error { return f.follow(ctx) })
	group.Go(func() error { return f.note(ctx) })
	group.Go(func() error { return f.record(ctx) })
	return group.Wait()
}

// forget has the next round download everything again. It compares that with what is on
// the disk, and replaces what differs.
func (f *file) forget() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run.meter.found(-f.written.bytes())
	f.written, f.claimed, f.empty, f.onDisk, f.noted, f.compare, f.tries = nil, nil, false, 0, 0, true, 0
	return f.sidecar.remove()
}

// keep records what has arrived, for the next run.
func (f *file) keep() error {
	f.mu.Lock()
	there := slices.Clone(f.written)
	f.mu.Unlock()
	defer f.sidecar.close()
	if len(there) == 0 {
		return nil
	}
	if err := f.data.Sync(); err != nil {
		return diskError(f.data.Name(), err)
	}
	return f.sidecar.record(there)
}

// publish gives the verified file its name.
func (f *file) publish() error {
	if info, err := f.data.Stat(); err != nil || info.Size() != f.Size { // one byte too many
		if err := errors.Join(err, f.data.Truncate(f.Size)); err != nil {
			return err
		}
	}
	if err := f.data.Sync(); err != nil {
		return diskError(f.data.Name(), err)
	}
	if err := os.Rename(f.data.Name(), f.path); err != nil {
		return err
	}
	if f.Size < f.run.block { // a crash costs little, and there may be thousands
		f.run.syncLater(filepath.Dir(f.path))
		return f.sidecar.remove()
	}
	return errors.Join(state.SyncDir(filepath.Dir(f.path)), f.sidecar.remove())
}
