package store

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/yamldoc"
)

// LockFile is the name of the file with the plugins of a folder's experiments.
const LockFile = "seer.lock"

const lockVersion = 1

// Lock is a seer.lock.
type Lock struct {
	Dir     string            // absolute
	Plugins map[string]Locked // by id
	doc     *yaml.Node        // as it was read, with its comments
}

// Locked is one plugin of a lock.
type Locked struct {
	Reference   string   // as the user wrote it
	Digest      string   // of the bundle
	OCI         string   // of the OCI manifest; "" = not from a registry
	Version     string   // of the plugin
	Signer      string   // fingerprint; "" = none
	Permissions string   // the permission hash
	Contract    []string // provider/1 …
}

var lockKeys = []string{"reference", "digest", "oci", "version", "signer", "permissions", "contract"}

// File is where the lock lies.
func (l *Lock) File() string { return filepath.Join(l.Dir, LockFile) }

// HasLock reports whether a folder has a seer.lock. The folders above do not count.
func HasLock(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, LockFile))
	return err == nil
}

// ReadLock reads the seer.lock of exactly that folder. Where there is none, the error is
// an [fs.ErrNotExist]. Every mistake in it is told, as file:line.
func ReadLock(dir string) (*Lock, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	data, err := readPlain(filepath.Join(abs, LockFile), yamldoc.MaxBytes)
	if err != nil {
		return nil, err
	}
	l, err := parseLock(filepath.Join(abs, LockFile), data)
	if err != nil {
		return nil, err
	}
	l.Dir = abs
	return l, nil
}

func parseLock(file string, data []byte) (*Lock, error) {
	d := &yamldoc.Document{File: file}
	l := &Lock{Plugins: map[string]Locked{}}
	var root *yaml.Node
	if l.doc, root = d.Root(data); root == nil {
		if d.Err() == nil {
			d.At(1, "empty; a lock begins with `version: %d`; install a plugin to have it written", lockVersion)
		}
		return nil, remedy.For(d.Err(), remedy.Remedy{Action: remedy.InstallPlugin})
	}
	// A file of another version may have other keys: the version is the mistake to tell.
	if v := value(root, "version"); v == nil || v.Kind != yaml.ScalarNode || v.Value != strconv.Itoa(lockVersion) {
		d.At(root.Line, "it is not of version %d, the only one that this program knows; use a newer version of it, or remove the file and install the plugins again", lockVersion)
		return nil, d.Err()
	}
	f := d.Fields(root, "seer.lock", []string{"version", "plugins"})
	if n := f["plugins"]; n != nil {
		plugins := d.Fields(n, "plugins", nil)
		for _, id := range slices.Sorted(maps.Keys(plugins)) {
			if !idPattern().MatchString(id) {
				d.At(plugins[id].Line, "plugins: %q is not the id of a plugin", id)
			}
			l.Plugins[id] = readLocked(d, plugins[id], "plugins."+id)
		}
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return l, nil
}

func readLocked(d *yamldoc.Document, n *yaml.Node, what string) Locked {
	f := d.Fields(n, what, lockKeys)
	get := func(key string, valid func(string) bool, form string) string {
		text := d.Text(f[key], what+"."+key)
		if !valid(text) {
			line := n.Line
			if f[key] != nil {
				line = f[key].Line
			}
			d.At(line, "%s.%s: %q is not %s", what, key, text, form)
		}
		return text
	}
	some := func(text string) bool { return text != "" }
	out := Locked{
		Reference:   get("reference", some, "where the plugin is from"),
		Digest:      get("digest", digestPattern().MatchString, "a digest, sha256:…"),
		OCI:         get("oci", func(s string) bool { return s == "" || digestPattern().MatchString(s) }, "a digest, sha256:…"),
		Version:     get("version", some, "a version"),
		Signer:      get("signer", func(s string) bool { return s == "none" || fingerprintPattern().MatchString(s) }, "the fingerprint of a key, SHA256:…, or none"),
		Permissions: get("permissions", digestPattern().MatchString, "a permission hash, sha256:…"),
		Contract:    d.List(f["contract"], what+".contract"),
	}
	if out.Signer == "none" {
		out.Signer = ""
	}
	if len(out.Contract) == 0 {
		d.At(n.Line, "%s.contract: missing; it is a list like [provider/1]", what)
	}
	return out
}

// UpdateLock changes the seer.lock of a folder, which it makes where there is none, as a
// whole and while no other process of the user does. Comments in it stay.
func (s *Store) UpdateLock(ctx context.Context, dir string, change func(*Lock) error) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return s.locked(ctx, func() error {
		l, err := ReadLock(abs)
		if missing(err) {
			l, err = &Lock{Dir: abs, Plugins: map[string]Locked{}}, nil
		}
		if err != nil {
			return err
		}
		before := maps.Clone(l.Plugins)
		if err := change(l); err != nil {
			return err
		}
		if l.doc != nil && maps.EqualFunc(before, l.Plugins, Locked.equal) {
			return nil
		}
		data, err := l.encode()
		if err != nil {
			return err
		}
		if err := s.step("lock"); err != nil {
			return err
		}
		if err := state.WriteFile(l.File(), data, 0o644); err != nil {
			return fmt.Errorf("the plugin is installed, but not locked: %w", err)
		}
		return nil
	})
}
