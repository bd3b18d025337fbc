// Package state owns the folders Seer keeps on this computer: state that must
// survive, a cache that may be deleted, and a short folder for sockets. All
// three are private to one user, and nothing here reads the process's
// environment: the caller says where things are, so that two engines can live
// in one process.
package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Options says where the folders are. An empty folder is derived from Getenv by
// the XDG rules; without Getenv every folder has to be given.
type Options struct {
	StateDir   string // default $XDG_STATE_HOME/seer, else $HOME/.local/state/seer
	CacheDir   string // default $XDG_CACHE_HOME/seer, else $HOME/.cache/seer
	RuntimeDir string // default $XDG_RUNTIME_DIR/seer, else /tmp/seer-UID; must be short

	Getenv func(name string) string
}

// maxRuntimeDir leaves room for "/m" + 12 characters + "/s" within the 104
// bytes that the address of a Unix socket has on macOS (108 on Linux).
const maxRuntimeDir = 84

// Store is a set of opened folders.
type Store struct {
	stateDir, cacheDir, runtimeDir string
}

// Open makes the folders where they are missing and checks that they belong to
// this user alone.
func Open(o Options) (*Store, error) {
	s := &Store{}
	var err error
	if s.stateDir, err = o.stateDir(); err != nil {
		return nil, err
	}
	if s.cacheDir, err = o.cacheDir(); err != nil {
		return nil, err
	}
	for _, dir := range []string{s.stateDir, s.cacheDir} {
		if err := ensurePrivate(dir); err != nil {
			return nil, err
		}
	}
	if s.runtimeDir, err = o.runtimeDir(); err != nil {
		return nil, err
	}
	return s, nil
}

// StateDir is the folder for what must survive.
func (s *Store) StateDir() string { return s.stateDir }

// CacheDir is the folder for what can be made again.
func (s *Store) CacheDir() string { return s.cacheDir }

// RuntimeDir is the folder for sockets. Its path is short, and it may vanish
// when the user logs out: keep nothing there that cannot be made again.
func (s *Store) RuntimeDir() string { return s.runtimeDir }

// Dir makes a private folder below the state folder and returns its path.
func (s *Store) Dir(elem ...string) (string, error) { return subdir(s.stateDir, elem) }

// Cache makes a private folder below the cache folder and returns its path.
func (s *Store) Cache(elem ...string) (string, error) { return subdir(s.cacheDir, elem) }

func subdir(base string, elem []string) (string, error) {
	dir := filepath.Join(append([]string{base}, elem...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make %s: %w", dir, noSpace(dir, err))
	}
	return dir, nil
}

func (o Options) stateDir() (string, error) {
	return o.choose("the state folder", o.StateDir, "XDG_STATE_HOME", ".local/state")
}

func (o Options) cacheDir() (string, error) {
	return o.choose("the cache folder", o.CacheDir, "XDG_CACHE_HOME", ".cache")
}

func (o Options) choose(what, given, variable, underHome string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if base := o.env(variable); base != "" {
		if !filepath.IsAbs(base) {
			return "", fmt.Errorf("%s is %q, which is not an absolute path; set it to one or unset it", variable, base)
		}
		return filepath.Join(base, "seer"), nil
	}
	home := o.env("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("cannot choose %s: neither %s nor HOME is an absolute path; set one of them", what, variable)
	}
	return filepath.Join(home, underHome, "seer"), nil
}

func (o Options) runtimeDir() (string, error) {
	if o.RuntimeDir != "" {
		dir, err := filepath.Abs(o.RuntimeDir)
		if err != nil {
			return "", err
		}
		return dir, openRuntime(dir)
	}
	// The variable often survives `su` or points to a folder that was never made;
	// then it is not ours to use.
	if base := o.env("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && checkPrivate(base) == nil {
		dir := filepath.Join(base, "seer")
		if len(dir) <= maxRuntimeDir {
			return dir, openRuntime(dir)
		}
	}
	dir := fmt.Sprintf("/tmp/seer-%d", os.Geteuid())
	return dir, openRuntime(dir)
}

func openRuntime(dir string) error {
	if len(dir) > maxRuntimeDir {
		return fmt.Errorf("the folder for sockets %s is %d bytes long and may have %d; choose a shorter one", dir, len(dir), maxRuntimeDir)
	}
	// Not MkdirAll and no repair: in /tmp somebody else may have been first.
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make the folder for sockets: %w", noSpace(dir, err))
	}
	return checkPrivate(dir)
}

func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}
