package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ownFolder refuses a folder in which somebody else could put a plugin: whoever owns it
// or one above it, or may write there, decides what is in it.
func ownFolder(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("cannot tell who owns %s", at)
		}
		mine := int(st.Uid) == os.Geteuid()
		switch {
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", at)
		case !mine && (at == dir || st.Uid != 0):
			return fmt.Errorf("%s belongs to somebody else (uid %d), who could put any plugin there; use a folder of your own", at, st.Uid)
		case info.Mode().Perm()&0o022 != 0 && (at == dir || info.Mode()&os.ModeSticky == 0):
			return fmt.Errorf("%s has mode %04o, so that others could put any plugin there; `chmod go-w %[1]s`", at, info.Mode().Perm())
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// insideFolder tells whether a plugin's files are really in a folder, whatever links
// lead to them, and are such that only the user can change them. digest is of the module
// that was read: who can change a link could have shown another file for the reading.
func insideFolder(dir, wasm, digest string) (bool, error) {
	real, err := filepath.EvalSymlinks(wasm)
	if err != nil {
		return false, err
	}
	rest, err := filepath.Rel(dir, real)
	if err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
		return false, nil //nolint:nilerr // no way from one to the other: not inside
	}
	if err := ownFolder(filepath.Dir(real)); err != nil {
		return false, err
	}
	if real != wasm {
		if data, err := os.ReadFile(real); err != nil || sum(data) != digest {
			return false, errors.Join(fmt.Errorf("%s leads to another file than it did a moment ago", wasm), err)
		}
	}
	for _, file := range []string{real, strings.TrimSuffix(real, ".wasm") + ".yaml"} {
		info, err := os.Stat(file)
		if missing(err) && file != real {
			continue // the manifest inside counts
		}
		if err != nil {
			return false, err
		}
		if err := ownFile(file, info); err != nil {
			return false, err
		}
	}
	return true, nil
}
