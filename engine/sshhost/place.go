package sshhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/state"
)

// place is where the machines of this host's user are kept.
type place struct {
	state string // empty = below the home folder
	cache string
	moved string // why it is not below the home folder
}

// choose finds the place: that of every Seer of this user, or, where a network file system is
// there, a folder on this host's own disk. Machines have sockets and locks in it, which do not
// work over a network, and other hosts would take them for their own.
func choose(getenv func(string) string, networked func(string) (bool, error), ownDisk string) (place, error) {
	base := getenv("XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(getenv("HOME"), ".local", "state")
	}
	far, err := networked(existing(base))
	if err != nil {
		return place{}, fmt.Errorf("see on which file system %s is: %w", base, err)
	}
	if !far {
		return place{state: filepath.Join(base, "seer")}, nil
	}
	own := filepath.Join(ownDisk, fmt.Sprintf("seer-%d", os.Geteuid()))
	far, err = networked(ownDisk)
	if err != nil {
		return place{}, fmt.Errorf("see on which file system %s is: %w", ownDisk, err)
	}
	if far {
		return place{}, fmt.Errorf("machines need a folder on a disk of this host, and neither %s nor %s is: set XDG_STATE_HOME in the environment of SSH sessions", base, ownDisk)
	}
	if err := state.Private(own); err != nil {
		return place{}, err
	}
	return place{
		state: filepath.Join(own, "state"), cache: filepath.Join(own, "cache"),
		moved: base + " is on a network file system, where sockets and locks do not work",
	}, nil
}

// usualDisk is where hosts keep what is large, theirs alone and there after a restart.
const usualDisk = "/var/tmp"

// store opens the folders. Sessions do not agree on XDG_RUNTIME_DIR: some have it, some not.
func (p place) store(getenv func(string) string) (*state.Store, error) {
	o := state.Options{StateDir: p.state, CacheDir: p.cache, Getenv: func(name string) string {
		if value := getenv(name); value != "" || name != "XDG_RUNTIME_DIR" {
			return value
		}
		return fmt.Sprintf("/run/user/%d", os.Geteuid())
	}}
	return state.Open(o)
}

// existing is the nearest folder above a path that is there.
func existing(path string) string {
	for path != "/" && path != "." {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
