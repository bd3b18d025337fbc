package gpulease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Claim is a sandbox's hold on a GPU or on a part of it. It ends when it is released, or when
// every process that holds it has ended. A process holds it while it refers to it.
type Claim struct {
	Kept
	*held
}

// Kept is the data with which another process can hold a claim, too; see [Hold].
type Kept struct {
	Path string `json:"path"`
	Claimed
}

// Release stops holding the claim. The GPU is free when no process holds it any more.
func (c *Claim) Release() { c.release() }

// End frees the GPUs of a sandbox that has ended, even if other processes hold the claims.
func End(claims []*Claim) {
	for _, c := range claims {
		_ = os.Remove(c.Path)
		_ = c.file.Close()
	}
}

// Hold holds a claim that another process has created, so that the claim outlives that process.
// If no process has held the claim for a while, its file may be gone. Hold then creates it again,
// although another sandbox may have claimed the GPU meanwhile. A later try may succeed after an
// error.
func Hold(k Kept) (*Claim, error) {
	c, err := HoldExisting(k)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	data, err := json.Marshal(content{Version: version, Claimed: k.Claimed})
	if err != nil {
		return nil, err
	}
	file, err := create(k.Path)
	if err == nil {
		_, err = file.Write(data)
	}
	if err != nil {
		return nil, fmt.Errorf("hold a claim of a GPU: %w", err)
	}
	return hold(k, file)
}

// HoldExisting is [Hold] for a claim of a sandbox that may have ended. If its file is gone, the
// error is [fs.ErrNotExist].
func HoldExisting(k Kept) (*Claim, error) {
	file, err := openPlain(k.Path)
	if err != nil {
		return nil, fmt.Errorf("hold a claim of a GPU: %w", err)
	}
	return hold(k, file)
}

func hold(k Kept, file *os.File) (*Claim, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil && !current(file, k.Path) {
		err = errors.New("it was removed")
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("hold %s: %w", k.Path, err)
	}
	return &Claim{k, &held{file, k.Path}}, nil
}

// LetGo stops holding a claim if another process holds it, and reports whether one does.
// Otherwise the caller still holds it.
func (f *Folder) LetGo(ctx context.Context, c *Claim) (bool, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	// flock releases a shared lock before it tries to take the exclusive one.
	switch err := unix.Flock(int(c.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		_ = c.file.Close()
		return true, nil
	case err != nil:
		return false, err
	}
	return false, unix.Flock(int(c.file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
}

// held is a file of the folder, with the lock that makes it count.
type held struct {
	file *os.File
	path string
}

// release removes the file unless another process holds it, too. A second call has no effect.
func (h *held) release() {
	if unix.Flock(int(h.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Remove(h.path)
	}
	_ = h.file.Close()
}
