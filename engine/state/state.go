// Package state owns the folders Seer keeps on this computer: state that must
// survive, a cache that may be deleted, and a short folder for sockets. All
// three are private to one user, and nothing here reads the process's
// environment: the caller says where things are, so that two engines can live
// in one process.
package state

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Options says where the folders are. An empty folder is derived from Getenv by
// the XDG rules; without Getenv every folder has to be given.
type Options struct {
	StateDir   string // default $XDG_STATE_HOME/seer, else $HOME/.local/state/seer
	CacheDir   string // default $XDG_CACHE_HOME/seer, else $HOME/.cache/seer
	RuntimeDir string // default $XDG_RUNTIME_DIR/seer, else /tmp/seer-UID; must be short

	Getenv func(name string) string

	shared   string // where seer-UID is made; default /tmp
	anyOwner bool   // for tests of attacks only: folders that others have made are taken
}

// Store is a set of opened folders.
type Store struct {
	stateDir, cacheDir, runtimeDir string

	agents sync.Map // folder of [RunDirs.Agent] → its *Lock
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
		if err := ensurePrivate(dir); err != nil && !o.anyOwner {
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
		return "", fmt.Errorf("make %s: %w", dir, NoSpace(dir, err))
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

func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}
