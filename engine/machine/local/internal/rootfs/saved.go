package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// SavedPrefix begins what [Store.Save] gives: local:sha256:HEX.
const SavedPrefix = "local:sha256:"

// savedRoot is what is written down of a saved system, beside its tar file.
type savedRoot struct {
	Version   int       `json:"version"`
	Base      string    `json:"base,omitempty"` // image, by digest; empty = this computer's own system
	Size      int64     `json:"size"`
	CreatedAt time.Time `json:"created_at"`

	file string
}

// Save saves what a machine in gVisor, whose state folder find gives, has changed on its tree.
// One name is saved once; find is called where it has not been.
func (s *Store) Save(ctx context.Context, name string, find func() (gvisor string, t *Tree, err error)) (ref string, err error) {
	if err := os.MkdirAll(filepath.Join(s.SavedDir, "keys"), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of saved systems: %w", err)
	}
	sum := sha256.Sum256([]byte(name))
	mark := filepath.Join(s.SavedDir, "keys", hex.EncodeToString(sum[:]))
	lock, err := s.Lock(ctx, "saved-"+hex.EncodeToString(sum[:8]))
	if err != nil {
		return "", err
	}
	defer lock.Remove()
	if ref, err := os.ReadFile(mark); err == nil {
		if _, err := s.read(string(ref)); err == nil {
			return string(ref), nil
		}
	}
	gvisor, tree, err := find()
	if err != nil {
		return "", err
	}
	if ref, err = s.save(ctx, gvisor, tree); err != nil {
		return "", fmt.Errorf("save the system of the machine: %w", err)
	}
	if err := state.WriteFile(mark, []byte(ref), 0o600); err != nil {
		return "", err
	}
	return ref, state.Sweep(s.SavedDir)
}

// save writes the tar file under a name that no reader knows, and gives it that of its
// content when it is complete.
func (s *Store) save(ctx context.Context, gvisor string, t *Tree) (string, error) {
	file, err := os.CreateTemp(s.SavedDir, ".tmp-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	hash := sha256.New()
	if err := isolation.SaveRoot(ctx, gvisor, io.MultiWriter(file, hash)); err != nil {
		return "", state.NoSpace(s.SavedDir, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return "", state.NoSpace(s.SavedDir, err)
	}
	info, err := os.Stat(file.Name())
	if err != nil {
		return "", err
	}
	digest := hex.EncodeToString(hash.Sum(nil))
	data, err := json.Marshal(savedRoot{Version: 1, Base: t.Base, Size: info.Size(), CreatedAt: time.Now().UTC()})
	if err != nil {
		return "", err
	}
	id := savedID(digest, t.Base)
	if err := os.Rename(file.Name(), filepath.Join(s.SavedDir, id+".tar")); err != nil {
		return "", err
	}
	return SavedPrefix + id, state.WriteFile(filepath.Join(s.SavedDir, id+".json"), data, 0o600)
}

// savedID tells the same changes on another base apart. It ends with their digest.
func savedID(digest, base string) string {
	name := sha256.Sum256([]byte(digest + "\x00" + base))
	return hex.EncodeToString(name[:8]) + digest
}

// Find looks whether there is a saved system, as [Store.Save] has called it. It does not read
// the content. Errors: [sdk.NotFound], and [sdk.Invalid] for one that is damaged and for what
// is no such name.
func (s *Store) Find(ref string) error {
	saved, err := s.read(ref)
	if err != nil {
		return err
	}
	if _, err := os.Stat(saved.file); err != nil {
		return sdk.Errorf(sdk.Invalid, "the snapshot %s is damaged: %v", ref, err)
	}
	return nil
}

// read finds a saved system. Its content is checked by open.
func (s *Store) read(ref string) (saved savedRoot, err error) {
	id, ok := strings.CutPrefix(ref, SavedPrefix)
	if !ok || len(id) != 80 || strings.Trim(id, "0123456789abcdef") != "" {
		return saved, sdk.Errorf(sdk.Invalid, "%q is not a snapshot of this computer; those begin with %s, and 80 digits follow", ref, SavedPrefix)
	}
	data, err := os.ReadFile(filepath.Join(s.SavedDir, id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return saved, sdk.Errorf(sdk.NotFound, "the snapshot %s is not on this computer", ref)
	}
	if err != nil {
		return saved, err
	}
	if err := json.Unmarshal(data, &saved); err != nil || saved.Version != 1 || savedID(id[16:], saved.Base) != id {
		return saved, sdk.Errorf(sdk.Invalid, "the snapshot %s cannot be read: it is damaged, or of another version", ref)
	}
	saved.file = filepath.Join(s.SavedDir, id+".tar")
	return saved, nil
}

// open finds a saved system and checks every byte of it.
func (s *Store) open(ref string) (savedRoot, error) {
	saved, err := s.read(ref)
	if err != nil {
		return saved, err
	}
	digest, err := state.Digest(saved.file)
	if err != nil {
		return saved, err
	}
	if !strings.HasSuffix(ref, digest) {
		return saved, sdk.Errorf(sdk.Invalid, "the snapshot %s is damaged: its content has the digest %s", ref, digest)
	}
	return saved, nil
}
