package local

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
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// savedPrefix begins what [provider.Snapshot] gives: local:sha256:HEX.
const savedPrefix = "local:sha256:"

// savedRoot is what is written down of a saved system, beside its tar file.
type savedRoot struct {
	Version   int       `json:"version"`
	Base      string    `json:"base,omitempty"` // image, by digest; empty = this computer's own system
	Size      int64     `json:"size"`
	CreatedAt time.Time `json:"created_at"`

	file string
}

func (p *provider) savedDir() string { return filepath.Join(p.Dir, "saved") }

// Snapshot saves what a machine has changed in its system: the tree that a machine
// with system packages or commands may write to. One key is saved once.
func (p *provider) Snapshot(ctx context.Context, handle, key string, _ json.RawMessage) (sdk.SnapshotStep, error) {
	if !validHandle(handle) || key == "" {
		return sdk.SnapshotStep{}, sdk.Errorf(sdk.Invalid, "a snapshot needs a machine and a key")
	}
	dir := p.savedDir()
	if err := os.MkdirAll(filepath.Join(dir, "keys"), 0o700); err != nil {
		return sdk.SnapshotStep{}, fmt.Errorf("make the folder of saved systems: %w", err)
	}
	sum := sha256.Sum256([]byte(handle + "\x00" + key))
	mark := filepath.Join(dir, "keys", hex.EncodeToString(sum[:]))
	lock, err := p.lock(ctx, "saved-"+hex.EncodeToString(sum[:8]))
	if err != nil {
		return sdk.SnapshotStep{}, err
	}
	defer lock.Remove()
	if ref, err := os.ReadFile(mark); err == nil {
		if _, err := p.readSaved(string(ref)); err == nil {
			return sdk.SnapshotStep{Image: string(ref)}, nil
		}
	}
	n, err := p.folder(handle).read()
	switch {
	case err != nil:
		return sdk.SnapshotStep{}, err
	case n == nil || !p.lives(p.folder(handle), n):
		return sdk.SnapshotStep{}, sdk.Errorf(sdk.NotFound, "there is no such machine any more")
	case n.Isolation != isolation.GVisor:
		return sdk.SnapshotStep{}, sdk.Errorf(sdk.Unsupported, "a sandbox in isolation %s cannot change its system, so there is nothing to save; gvisor can", n.Isolation)
	case n.System == nil || !n.System.Writable:
		return sdk.SnapshotStep{}, sdk.Errorf(sdk.Unsupported, "this sandbox cannot change its system, so there is nothing to save: it has no system_packages or image commands")
	}
	ref, err := p.save(ctx, dir, p.folder(handle), n.System)
	if err != nil {
		return sdk.SnapshotStep{}, fmt.Errorf("save the system of the machine: %w", err)
	}
	if err := state.WriteFile(mark, []byte(ref), 0o600); err != nil {
		return sdk.SnapshotStep{}, err
	}
	return sdk.SnapshotStep{Image: ref}, state.Sweep(dir)
}

// save writes the tar file under a name that no reader knows, and gives it that of its
// content when it is complete.
func (p *provider) save(ctx context.Context, dir string, f folder, s *system) (string, error) {
	file, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	hash := sha256.New()
	if err := isolation.SaveRoot(ctx, f.path("gvisor"), io.MultiWriter(file, hash)); err != nil {
		return "", noSpace(dir, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return "", noSpace(dir, err)
	}
	info, err := os.Stat(file.Name())
	if err != nil {
		return "", err
	}
	digest := hex.EncodeToString(hash.Sum(nil))
	data, err := json.Marshal(savedRoot{Version: 1, Base: s.Base, Size: info.Size(), CreatedAt: time.Now().UTC()})
	if err != nil {
		return "", err
	}
	id := savedID(digest, s.Base)
	if err := os.Rename(file.Name(), filepath.Join(dir, id+".tar")); err != nil {
		return "", err
	}
	return savedPrefix + id, state.WriteFile(filepath.Join(dir, id+".json"), data, 0o600)
}

// savedID tells the same changes on another base apart. It ends with their digest.
func savedID(digest, base string) string {
	name := sha256.Sum256([]byte(digest + "\x00" + base))
	return hex.EncodeToString(name[:8]) + digest
}

func noSpace(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &state.NoSpaceError{Path: path, Err: err}
	}
	return err
}

// FindSaved looks whether a provider with this folder has a saved system, as its Snapshot
// has called it. It does not read the content. Errors: [sdk.NotFound], and [sdk.Invalid] for
// one that is damaged and for what is no such name.
func FindSaved(dir, ref string) error {
	s, err := (&provider{Options: Options{Dir: dir}}).readSaved(ref)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.file); err != nil {
		return sdk.Errorf(sdk.Invalid, "the snapshot %s is damaged: %v", ref, err)
	}
	return nil
}

// readSaved finds a saved system. Its content is checked by openSaved.
func (p *provider) readSaved(ref string) (savedRoot, error) {
	var s savedRoot
	id, ok := strings.CutPrefix(ref, savedPrefix)
	if !ok || len(id) != 80 || strings.Trim(id, "0123456789abcdef") != "" {
		return s, sdk.Errorf(sdk.Invalid, "%q is not a snapshot of this computer; those begin with %s, and 80 digits follow", ref, savedPrefix)
	}
	data, err := os.ReadFile(filepath.Join(p.savedDir(), id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, sdk.Errorf(sdk.NotFound, "the snapshot %s is not on this computer", ref)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Version != 1 || savedID(id[16:], s.Base) != id {
		return s, sdk.Errorf(sdk.Invalid, "the snapshot %s cannot be read: it is damaged, or of another version", ref)
	}
	s.file = filepath.Join(p.savedDir(), id+".tar")
	return s, nil
}

// openSaved finds a saved system and checks every byte of it.
func (p *provider) openSaved(ref string) (savedRoot, error) {
	s, err := p.readSaved(ref)
	if err != nil {
		return s, err
	}
	digest, err := digestOf(s.file)
	if err != nil {
		return s, err
	}
	if !strings.HasSuffix(ref, digest) {
		return s, sdk.Errorf(sdk.Invalid, "the snapshot %s is damaged: its content has the digest %s", ref, digest)
	}
	return s, nil
}
