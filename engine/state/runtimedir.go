package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxRuntimeDir leaves room for "/m" + 12 characters + "/s" within the 104
// bytes that the address of a Unix socket has on macOS (108 on Linux).
const maxRuntimeDir = 84

// runtimeDir is the same folder in every process of a user, for they find each other's
// sockets there. So no other one is chosen where it cannot be had: that is an error.
func (o Options) runtimeDir() (string, error) {
	if o.RuntimeDir != "" {
		dir, err := filepath.Abs(o.RuntimeDir)
		if err != nil {
			return "", err
		}
		return dir, o.openRuntime(dir)
	}
	// The variable often survives `su` or points to a folder that was never made;
	// then it is not ours to use.
	base := o.env("XDG_RUNTIME_DIR")
	unfit := unfitBase(base)
	if unfit == nil {
		dir := filepath.Join(base, "seer")
		return dir, o.openRuntime(dir)
	}
	shared := o.shared
	if shared == "" {
		shared = "/tmp"
	}
	dir := filepath.Join(shared, fmt.Sprintf("seer-%d", os.Geteuid()))
	err := o.openRuntime(dir)
	var taken *TakenError
	if errors.As(err, &taken) {
		taken.Unfit = unfit
	}
	return dir, err
}

// unfitBase is why a folder for sockets cannot be in $XDG_RUNTIME_DIR; nil = it can.
func unfitBase(base string) error {
	switch {
	case base == "":
		return errors.New("it is not set")
	case !filepath.IsAbs(base):
		return fmt.Errorf("%s is not an absolute path", base)
	case len(base)+len("/seer") > maxRuntimeDir:
		return fmt.Errorf("%s is longer than %d bytes", base, maxRuntimeDir-len("/seer"))
	}
	return checkPrivate(base)
}

// TakenError says that the folder for sockets is there and cannot be trusted: somebody
// else has made it, or can put files there.
type TakenError struct {
	Dir   string
	Why   error
	Unfit error // why $XDG_RUNTIME_DIR was not used instead; nil = Dir was named
}

func (e *TakenError) Error() string {
	text := fmt.Sprintf("the folder for sockets %s cannot be used: %v", e.Dir, e.Why)
	if e.Unfit == nil {
		return text + "; name another folder"
	}
	return text + "; remove it if you can, or make a private folder (mkdir -m 700) with a short path and name it in XDG_RUNTIME_DIR (now: " + e.Unfit.Error() + ")"
}

// Unwrap returns the reason.
func (e *TakenError) Unwrap() error { return e.Why }

func (o Options) openRuntime(dir string) error {
	if len(dir) > maxRuntimeDir {
		return fmt.Errorf("the folder for sockets %s is %d bytes long and may have %d; choose a shorter one", dir, len(dir), maxRuntimeDir)
	}
	// Not MkdirAll and no repair: in /tmp somebody else may have been first.
	if err := makePrivate(dir); err != nil {
		return fmt.Errorf("make the folder for sockets: %w", err)
	}
	if o.anyOwner {
		return nil
	}
	if err := onlyOurs(dir); err != nil {
		return &TakenError{Dir: dir, Why: err}
	}
	return nil
}

// outside is the owner that a user namespace shows for those it does not know, root
// among them.
const outside = 65534

// checkAbove makes sure that nobody but root and this user can put another folder in the
// place of dir: a folder above it that others may write must be sticky.
func checkAbove(dir string) error {
	at, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for ; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return fmt.Errorf("cannot tell who owns %s", at)
		case st.Uid != 0 && st.Uid != outside && int(st.Uid) != os.Geteuid():
			return fmt.Errorf("it is in %s, which belongs to %s, who may replace it", at, userName(st.Uid))
		case info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0:
			return fmt.Errorf("it is in %s, where others may replace it (mode %04o, and not sticky)", at, info.Mode().Perm())
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
