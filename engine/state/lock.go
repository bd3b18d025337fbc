package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Lock is an advisory lock on a file. The system lets go of it when its holder
// dies, however that happens.
type Lock struct{ f *flock.Flock }

const lockPoll = 5 * time.Millisecond

// Acquire waits for the lock at path until ctx ends. It excludes other
// processes and other holders in this one.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	for {
		f := newLock(path)
		if _, err := f.TryLockContext(ctx, lockPoll); err != nil {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("wait for the lock %s: %w", path, ctx.Err())
			}
			return nil, lockError(path, err)
		}
		if current(f, path) {
			return &Lock{f}, nil
		}
		_ = f.Close()
	}
}

// Locked runs do while it holds the lock at path, for which it waits until ctx ends.
func Locked(ctx context.Context, path string, do func() error) error {
	lock, err := Acquire(ctx, path)
	if err != nil {
		return err
	}
	defer lock.Release()
	return do()
}

// TryAcquire takes the lock if it is free. Held reports that somebody else has
// it.
func TryAcquire(path string) (lock *Lock, held bool, err error) {
	for {
		f := newLock(path)
		ok, err := f.TryLock()
		if err != nil {
			return nil, false, lockError(path, err)
		}
		if !ok {
			_ = f.Close()
			return nil, true, nil
		}
		if current(f, path) {
			return &Lock{f}, false, nil
		}
		_ = f.Close()
	}
}

// SweepLocks removes the lock files in dir that nobody holds and that belong to
// nothing: those of programs that were killed before they had made what they
// locked.
func SweepLocks(dir string, needed func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if needed(entry.Name()) {
			continue
		}
		lock, held, err := TryAcquire(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		if !held {
			lock.Remove()
		}
	}
	return nil
}

// Release lets go of the lock and leaves its file.
func (l *Lock) Release() { _ = l.f.Close() }

// Remove lets go of the lock and deletes its file. Somebody who already waits
// notices it and starts over.
func (l *Lock) Remove() {
	_ = os.Remove(l.f.Path())
	_ = l.f.Close()
}

func newLock(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
}

// current reports whether the locked file is still the one at path, and was not
// removed by its last holder.
func current(f *flock.Flock, path string) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(locked, there)
}

func lockError(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("lock %s: the folder %s is gone: %w", path, filepath.Dir(path), err)
	}
	return fmt.Errorf("lock %s: %w", path, NoSpace(path, err))
}
