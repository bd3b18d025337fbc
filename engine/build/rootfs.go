package build

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// rootFSDir is where the cache notes which saved file system has what.
const rootFSDir = "systems"

// savedPrefix begins what this computer calls a saved file system.
const savedPrefix = "local:sha256:"

// savedRootFS is what is noted of one.
type savedRootFS struct {
	Snapshot string `json:"snapshot"` // the provider's name of it
}

// rootFS is a saved file system that machines start from; the zero value is none.
type rootFS struct {
	saved string // the provider's name of it
	note  string // the file of the cache that notes it
}

func (r rootFS) image() *sdk.Image {
	if r.saved == "" {
		return nil
	}
	return &sdk.Image{Snapshot: r.saved}
}

// ensureRootFS finds the saved file system that an image describes, and makes it where it
// has not been made yet.
func (b *building) ensureRootFS(ctx context.Context, want sdk.Image, layer string) error {
	data, err := json.Marshal([]any{"2", b.builder.Store.StateDir(), b.choice.Provider, want, layer, b.Settings.Identity})
	if err != nil {
		return err
	}
	dir, err := b.builder.Store.Cache(rootFSDir)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	note := filepath.Join(dir, hex.EncodeToString(sum[:])+".json")
	saved, err := b.savedRootFS(ctx, want, note)
	b.rootfs = rootFS{saved: saved, note: note}
	return err
}

func (b *building) savedRootFS(ctx context.Context, want sdk.Image, note string) (saved string, err error) {
	if saved, err := readRootFS(note); saved != "" || err != nil {
		now := b.builder.Now()
		err = errors.Join(err, os.Chtimes(note, now, now)) // so that nobody prunes it
		if !errors.Is(err, fs.ErrNotExist) {               // else somebody just has
			return saved, err
		}
	}
	lock, held, err := state.TryAcquire(note + ".lock")
	if held {
		b.Report.Send(event.BuildWaiting{Part: "system"})
		lock, err = state.Acquire(ctx, note+".lock")
	}
	if err != nil {
		return "", err
	}
	defer lock.Remove()
	if saved, err := readRootFS(note); saved != "" || err != nil {
		return saved, err
	}
	b.Report.Send(event.BuildStarted{Part: "system", Contents: contentText(want)})
	m := Machine{Purpose: "the system with " + contentText(want), Image: &want, Layer: b.LayerKey(), Saved: func(name string) error {
		saved = name
		return b.builder.noteRootFS(note, name)
	}}
	if len(want.Commands) > 0 {
		m.Mounts = b.layer.mounts()
	}
	err = b.run(ctx, b.choice, m, func(ctx context.Context, runtime *client.Client, log *installLog) error {
		return b.installRootFS(ctx, runtime, want, log)
	}, nil)
	if err != nil {
		return "", err
	}
	return saved, nil
}

// noteRootFS notes a saved file system. Without a note nobody would find and prune it, so it
// is removed if it cannot be noted.
func (b *Builder) noteRootFS(note, saved string) error {
	data, err := json.Marshal(savedRootFS{saved})
	if err == nil {
		err = state.WriteFile(note, data, 0o600)
	}
	if err == nil {
		return nil
	}
	others, readErr := b.rootFSNotes(saved)
	id, ours := savedID(saved)
	local, dirErr := b.Store.Dir("local")
	if readErr != nil || len(others) > 0 || !ours || dirErr != nil {
		return errors.Join(err, readErr, dirErr)
	}
	return errors.Join(err, removeSaved(filepath.Join(local, "saved"), id))
}

// savedID is how this computer names the files of a saved system, if it is one of its own.
func savedID(saved string) (id string, ours bool) {
	id, ours = strings.CutPrefix(saved, savedPrefix)
	return id, ours && !strings.Contains(id, "/")
}

func removeSaved(dir, id string) error {
	return errors.Join(removeIfExists(filepath.Join(dir, id+".tar")), removeIfExists(filepath.Join(dir, id+".json")))
}

// rootFSUsed notes of a saved system that an experiment names that it is used, where starts
// have made it.
func (b *Builder) rootFSUsed(saved string) error {
	if !strings.HasPrefix(saved, savedPrefix) {
		return nil
	}
	notes, err := b.rootFSNotes(saved)
	now := b.Now()
	for _, note := range notes {
		if e := os.Chtimes(note, now, now); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// rootFSNotes are the notes of a saved file system, but for those that cannot be read: they
// are not pruned.
func (b *Builder) rootFSNotes(saved string) (notes []string, err error) {
	dir, err := b.Store.Cache(rootFSDir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		note := filepath.Join(dir, entry.Name())
		if !strings.HasSuffix(note, ".json") {
			continue
		}
		if ref, _ := readRootFS(note); ref == saved {
			notes = append(notes, note)
		}
	}
	return notes, err
}

func contentText(i sdk.Image) string {
	if len(i.Commands) > 0 {
		return text.Plural(len(i.Commands), "command")
	}
	return text.Plural(len(i.SystemPackages), "package")
}

func readRootFS(note string) (string, error) {
	data, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var s savedRootFS
	if err == nil && json.Unmarshal(data, &s) != nil {
		return "", nil // damaged: it is made again
	}
	return s.Snapshot, err
}

// Image is what the sandbox starts from on a machine of this computer: what has been made
// for it, or else what was planned.
func (i *Installation) Image(planned *sdk.Image) *sdk.Image {
	if i == nil {
		return planned
	}
	return cmp.Or(i.rootfs.image(), planned)
}

// Forget drops the note of a saved file system that somebody has deleted, so that the next
// start makes it anew. err is why the machine did not start.
func (i *Installation) Forget(err error) error {
	if i == nil || i.rootfs.saved == "" || sdk.CodeOf(err) != sdk.NotFound {
		return err
	}
	_ = os.Remove(i.rootfs.note)
	return fmt.Errorf("%w; start again to build it anew", err)
}
