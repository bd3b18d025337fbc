package isolation

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/isolation/seccomp"
)

// enter changes the calling thread, for what it starts in this kind of isolation.
func enter(kind string, off defences) error {
	if kind == None {
		return nil
	}
	if !off.keyring {
		if err := ownKeyring(); err != nil {
			return err
		}
	}
	if kind != GVisor || off.filter {
		return nil
	}
	filter, err := seccomp.Gvisor()
	if err != nil {
		return err
	}
	return filter.Install()
}

// ownKeyring gives the calling thread an empty session keyring. A kernel without keys,
// and a container that refuses them, have none that could be reached.
func ownKeyring() error {
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // without a name
	if err == nil || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("make a session keyring: %w; end sandboxes that you do not need, or raise /proc/sys/kernel/keys/maxkeys", err)
}
