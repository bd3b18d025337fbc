package state

import (
	"fmt"
	"os"
	"syscall"
)

// ensurePrivate makes dir, and takes the permissions of others away from one
// that exists and is ours.
func ensurePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, noSpace(dir, err))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make %s private: %w", dir, err)
	}
	return nil
}

// checkPrivate accepts only a real folder of this user that nobody else can
// enter. It repairs nothing: a folder that somebody else has prepared may
// already hold his files.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; remove it", dir)
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 || perm&0o700 != 0o700 {
		return fmt.Errorf("%s has mode %04o instead of 0700, so others may have put files there; check and remove it", dir, perm)
	}
	return nil
}

func checkOwner(dir string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("cannot tell who owns %s", dir)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, not to uid %d that runs Seer; use another folder", dir, st.Uid, os.Geteuid())
	}
	return nil
}
