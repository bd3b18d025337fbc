package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
)

// savedMemory stores what a snapshot of memory has of blobs, of which the pages do not shrink.
func savedMemory(t *testing.T) (*snapshot.Store, snapshot.Snapshot) {
	t.Helper()
	dir := t.TempDir()
	store := &snapshot.Store{Dir: filepath.Join(dir, "store")}
	pages := make([]byte, 17<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(pages)
	var sources []snapshot.Source
	for _, name := range []string{"pages.img", "checkpoint.img", "machine.json"} {
		data := bytes.Repeat([]byte(name), 100)
		if name == "pages.img" {
			data = pages
		}
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, snapshot.Source{Name: memoryPrefix + name, Opaque: true, File: file,
			Open: func(context.Context) (io.ReadCloser, error) { return os.Open(file) }})
	}
	saved, err := store.Save(t.Context(), snapshot.Meta{Name: "mem", Kind: snapshot.Memory}, sources)
	if err != nil {
		t.Fatal(err)
	}
	return store, saved
}

// damage changes a byte of a part in the store.
func damage(t *testing.T, store *snapshot.Store, saved snapshot.Snapshot, name string) {
	t.Helper()
	for _, b := range saved.Blobs {
		if b.Name != memoryPrefix+name {
			continue
		}
		file := filepath.Join(store.Dir, "blobs", strings.TrimPrefix(b.Part.Digest, "sha256:"))
		data, err := os.ReadFile(file)
		if err == nil {
			data[len(data)/2] ^= 1
			err = os.WriteFile(file, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("there is no %s", name)
}

func TestUnpackMemory(t *testing.T) {
	t.Parallel()
	store, saved := savedMemory(t)
	dir := t.TempDir()
	v, err := unpackMemory(t.Context(), store, saved, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer v.stop()
	if err := v.result(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{filepath.Join(local.MemoryImages, "pages.img"), filepath.Join(local.MemoryImages, "checkpoint.img"), "machine.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is damaged is found: the pages while they are in use already, the rest before.
func TestUnpackDamagedMemory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pages.img", "checkpoint.img"} {
		store, saved := savedMemory(t)
		damage(t, store, saved, name)
		v, err := unpackMemory(t.Context(), store, saved, t.TempDir())
		if (err == nil) != (name == "pages.img") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			err = v.result()
			v.stop()
		}
		if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "mem is damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnpackMemoryEnds(t *testing.T) {
	t.Parallel()
	store, saved := savedMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	v, err := unpackMemory(ctx, store, saved, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v.stop() // whatever it has seen so far
	cancel()
	if _, err := unpackMemory(ctx, store, saved, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	saved.Blobs[0].Name = memoryPrefix + "../../out"
	if _, err := unpackMemory(t.Context(), store, saved, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no snapshot of memory has") {
		t.Errorf("a path that leads out: %v", err)
	}
}
