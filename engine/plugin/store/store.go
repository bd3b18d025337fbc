// Package store keeps what the user has installed and said yes to: bundles by
// digest, which version of a plugin is active, grants, signers, the policy, seer.lock
// and the audit of what plugins did. It runs no plugin and asks no network.
//
// Bundles lie in the data folder and are only ever added or removed as a whole. All
// that decides is one file, grants.json in the state folder, replaced as a whole under
// a lock, so that whoever is killed leaves the old decision or the new one.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/engine/state"
)

// Options say where things are.
type Options struct {
	DataDir    string           // bundles go to store/ below it: $XDG_DATA_HOME/seer
	StateDir   string           // grants and audit go to plugins/ below it; as of package state
	ConfigFile string           // with the policy: $XDG_CONFIG_HOME/seer/config.yaml; "" or missing = the default policy
	AdminFile  string           // the policy of this computer's administrator; "" = [policy.File]
	Now        func() time.Time // nil = time.Now
	Logger     hclog.Logger     // nil = discard

	// Step is asked before each change on disk, for tests that stop there. nil = go on.
	Step func(name string) error
}

// Store is safe for concurrent use, by other processes too.
type Store struct {
	bundles string // folder of bundles
	dir     string // plugins/ of the state folder
	config  string
	admin   string
	now     func() time.Time
	auditLog

	ledger remembered[*ledger]
	policy remembered[Policy]
	looked sync.Map // folder of a bundle → *remembered[Installed]
}

// Open makes the folders where they are missing. It reads nothing yet: a broken file
// is told by what needs it.
func Open(o Options) (*Store, error) {
	if !filepath.IsAbs(o.DataDir) || !filepath.IsAbs(o.StateDir) {
		return nil, fmt.Errorf("plugin store: the data folder %q and the state folder %q must be absolute paths", o.DataDir, o.StateDir)
	}
	s := &Store{bundles: filepath.Join(o.DataDir, "store"), dir: filepath.Join(o.StateDir, "plugins"), config: o.ConfigFile, admin: cmp.Or(o.AdminFile, policy.File),
		now: o.Now, auditLog: auditLog{audits: filepath.Join(o.StateDir, "plugins", "audit"), log: o.Logger, step: o.Step}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.step == nil {
		s.step = func(string) error { return nil }
	}
	for _, dir := range []string{s.bundles, s.dir, s.audits} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make %s: %w", dir, full(dir, err))
		}
	}
	return s, nil
}

// BundleDir is the folder with all bundles, a folder for each.
func (s *Store) BundleDir() string { return s.bundles }

// GrantsFile is where the grants are.
func (s *Store) GrantsFile() string { return filepath.Join(s.dir, "grants.json") }

// Policy is what limits all plugins, as it is now in the configuration file and in the policy of
// this computer's administrator: what both allow.
func (s *Store) Policy() (Policy, error) {
	return s.policy.get(time.Now(), [2]string{s.config, s.admin}, func() (Policy, error) {
		p, err := ReadPolicy(s.config)
		if err != nil {
			return Policy{}, err
		}
		limit, err := readAdminPolicy(s.admin)
		return p.within(limit), err
	})
}

// decisions are what holds now, for reading.
func (s *Store) decisions() (*ledger, error) {
	return s.ledger.get(time.Now(), [2]string{s.GrantsFile()}, s.read)
}

// locked does f while no other process changes bundles or decisions.
func (s *Store) locked(ctx context.Context, f func() error) error {
	lock, err := state.Acquire(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return err
	}
	defer lock.Release()
	return f()
}

// full makes a full disk recognisable as [state.ErrNoSpace].
func full(path string, err error) error {
	var already *state.NoSpaceError
	if !errors.As(err, &already) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		return &state.NoSpaceError{Path: path, Err: err}
	}
	return err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
