package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

const (
	recordFile = "origin.json"
	staging    = ".tmp-"
)

var (
	digestPattern = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	idPattern     = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
)

// Installed is a bundle in the store.
type Installed struct {
	ID      string        `json:"id"`
	Version string        `json:"version"`
	Digest  string        `json:"digest"` // of the bundle
	Wasm    string        `json:"wasm"`   // digest of the module, which is what a grant names
	Origin  bundle.Origin `json:"origin"`
	Signer  string        `json:"signer,omitempty"` // fingerprint; "" = unsigned
	Time    time.Time     `json:"time"`             // when it was stored

	Dir      string       `json:"-"` // its folder, which a host can search
	Manifest sdk.Manifest `json:"-"`
	Access   access.Set   `json:"-"` // what it asks for
}

// File is the module.
func (i Installed) File() string { return filepath.Join(i.Dir, i.ID+".wasm") }

// statement is what the digest is of, with the manifest as it is now.
func (i Installed) statement(manifest []byte) string {
	return fmt.Sprintf("seer-plugin-v1\nid %s\nversion %s\nmanifest %s\nwasm %s\n", i.ID, i.Version, sum(manifest), i.Wasm)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(s[:])
}

// Put stores a bundle, unless it is there already. Nothing becomes active, and nobody
// sees a part of it.
func (s *Store) Put(ctx context.Context, b bundle.Bundle, from bundle.Origin, signer string) (Installed, error) {
	m, err := host.CheckManifest(b.ID+".yaml", b.Manifest)
	if err == nil && (m.ID != b.ID || m.Version != b.Version) {
		err = fmt.Errorf("its manifest is of %s %s", m.ID, m.Version)
	}
	if err != nil {
		return Installed{}, fmt.Errorf("store %s %s: %w", b.ID, b.Version, err)
	}
	in := Installed{ID: b.ID, Version: b.Version, Digest: b.Digest(), Wasm: sum(b.Wasm), Origin: from, Signer: signer, Time: s.now().UTC().Truncate(time.Second)}
	in.Dir, in.Manifest, in.Access = s.folder(in.Digest), m, access.Of(m)
	if err := s.locked(ctx, func() error { return s.put(b, &in) }); err != nil {
		return Installed{}, fmt.Errorf("store %s %s: %w", b.ID, b.Version, err)
	}
	return in, nil
}

func (s *Store) put(b bundle.Bundle, in *Installed) error {
	sweep(s.bundles)
	there, err := s.Get(in.Digest)
	known := err == nil
	if known && in.Signer == "" {
		in.Signer = there.Signer // it was signed where it came from before
	}
	record, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return err
	}
	extra := map[string][]byte{b.ID + ".wasm.sig": b.Signature, b.ID + ".conformance.json": b.Report, recordFile: append(record, '\n')}
	if known {
		return writeFiles(in.Dir, s.step, extra) // a signature may have come since
	}
	dir, err := os.MkdirTemp(s.bundles, staging)
	if err != nil {
		return full(s.bundles, err)
	}
	defer os.RemoveAll(dir) // where it could not be renamed
	if err := writeFiles(dir, s.step, map[string][]byte{b.ID + ".wasm": b.Wasm, b.ID + ".yaml": b.Manifest}); err != nil {
		return err
	}
	if err := writeFiles(dir, s.step, extra); err != nil {
		return err
	}
	if err := s.step("bundle rename"); err != nil {
		return err
	}
	if err := os.RemoveAll(in.Dir); err != nil { // it was not what its name says
		return full(in.Dir, err)
	}
	return full(in.Dir, os.Rename(dir, in.Dir))
}

func writeFiles(dir string, step func(string) error, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == nil {
			continue
		}
		if err := step("bundle file " + name); err != nil {
			return err
		}
		if err := state.WriteFile(filepath.Join(dir, name), files[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what processes that were killed left behind: the lock is held, so
// nobody is writing.
func sweep(bundles string) {
	entries, _ := os.ReadDir(bundles) // a folder that cannot be listed fails at the write that follows
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), staging) {
			_ = os.RemoveAll(filepath.Join(bundles, e.Name()))
		}
	}
}

func (s *Store) folder(digest string) string {
	return filepath.Join(s.bundles, strings.TrimPrefix(digest, "sha256:"))
}
