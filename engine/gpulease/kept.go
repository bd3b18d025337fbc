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

// Claim is a GPU, or a part of it, that a sandbox has until it is released or every process
// that holds it has ended.
type Claim struct {
	Kept
	*held
}

// Kept is what another process needs to hold a claim, too.
type Kept struct {
	Path string `json:"path"`
	Claimed
}

// Release stops holding a claim. The GPU is free once nobody holds it.
func (c *Claim) Release() { c.release() }

// End frees the GPUs of a sandbox that has ended, whoever still holds their claims.
func End(claims []*Claim) {
	for _, c := range claims {
		_ = os.Remove(c.Path)
		_ = c.file.Close()
	}
}

// Hold holds a claim that another process has made, so that it outlives that one. Where nobody
// has held it for a while it may be gone: it is then made again, although somebody else may
// have the GPU by now. An error may pass.
func Hold(k Kept) (*Claim, error) {
	file, err := openPlain(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		var data []byte
		if data, err = json.Marshal(content{Version: version, Claimed: k.Claimed}); err != nil {
			return nil, err
		}
		if file, err = create(k.Path); err == nil {
			_, err = file.Write(data)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("hold a claim of a GPU: %w", err)
	}
	if err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil && !current(file, k.Path) {
		err = errors.New("it was removed")
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("hold %s: %w", k.Path, err)
	}
	return &Claim{k, &held{file, k.Path}}, nil
}

// LetGo stops holding a claim that another process holds, and reports whether one does. If
// none does, it is still held here.
func (f *Folder) LetGo(ctx context.Context, c *Claim) (bool, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	// Turning a shared lock into an exclusive one lets go of it first.
	switch err := unix.Flock(int(c.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		_ = c.file.Close()
		return true, nil
	case err != nil:
		return false, err
	}
	return false, unix.Flock(int(c.file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
}

// held is a file that counts as long as it is held.
type held struct {
	file *os.File
	path string
}

// release removes the file unless another process holds it, too. It may be called twice.
func (h *held) release() {
	if unix.Flock(int(h.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Remove(h.path)
	}
	_ = h.file.Close()
}
