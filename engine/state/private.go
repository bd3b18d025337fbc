package state

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ensurePrivate makes dir, and takes the permissions of others away from one
// that exists and is ours, unless anybody could have put files there.
func ensurePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, NoSpace(dir, err))
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
	if entries, err := os.ReadDir(dir); info.Mode().Perm()&0o002 != 0 && (err != nil || len(entries) > 0) {
		return fmt.Errorf("%s has mode %04o, so other users may have put files into it; inspect it, then remove the permissions of others", dir, info.Mode().Perm())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make %s private: %w", dir, err)
	}
	return nil
}

// Private makes dir where it is missing, and makes sure that it is this user's alone and that
// nobody else can put another one in its place. It repairs nothing.
func Private(dir string) error {
	if err := makePrivate(dir); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return onlyOurs(dir)
}

func makePrivate(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return NoSpace(dir, err)
	}
	return nil
}

func onlyOurs(dir string) error {
	if err := checkPrivate(dir); err != nil {
		return err
	}
	return checkAbove(dir)
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
		return fmt.Errorf("%s is not a folder", dir)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch perm := info.Mode().Perm(); {
	case !ok:
		return fmt.Errorf("cannot tell who owns %s", dir)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to %s, and Seer runs as uid %d", dir, userName(st.Uid), os.Geteuid())
	case perm&0o077 != 0 || perm&0o700 != 0o700:
		return fmt.Errorf("%s has mode %04o and not 0700, so others may have put files there", dir, perm)
	}
	return nil
}

// userName is a user as an error names him.
func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if found, err := user.LookupId(number); err == nil {
		return found.Username + " (uid " + number + ")"
	}
	return "uid " + number
}

func checkOwner(dir string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("cannot tell who owns %s", dir)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to %s, and Seer runs as uid %d; use another folder", dir, userName(st.Uid), os.Geteuid())
	}
	return nil
}
