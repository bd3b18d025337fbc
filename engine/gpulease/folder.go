package gpulease

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/internal/retry"
)

// Made is the folder that an administrator may make for the claims, with mode 1777. It then
// takes the place of all others.
const Made = "/run/seer-gpus"

// bases are where the folder is made otherwise: in the first that exists for all users. They
// are on this computer, and empty after its start.
var bases = [...]string{"/run/lock", "/dev/shm", "/tmp"}

// Folder is where the claims are.
type Folder struct {
	dir   string
	uid   int
	ask   Asker
	after func(time.Duration) <-chan time.Time
	users sync.Map // number → name: to look one up may mean asking a server
}

// Options are what a [Folder] works with.
type Options struct {
	Dir string // empty = the one that all users of this computer share
	// Ask asks the driver who uses the GPUs; default [NvidiaSMI].
	Ask   Asker
	After func(time.Duration) <-chan time.Time // default [time.After]
}

// Open finds the folder, and makes it where it is missing. The choice depends on nothing that
// differs between users.
func Open(o Options) (*Folder, error) {
	f := &Folder{dir: o.Dir, uid: os.Geteuid(), ask: o.Ask, after: o.After}
	if f.ask == nil {
		f.ask = NvidiaSMI
	}
	if f.after == nil {
		f.after = time.After
	}
	if f.dir == "" {
		var err error
		if f.dir, err = find(Made, bases[:]); err != nil {
			return nil, err
		}
	}
	return f, f.make()
}

func find(made string, bases []string) (string, error) {
	if _, err := os.Lstat(made); err == nil {
		return made, nil
	}
	for _, base := range bases {
		if info, err := os.Stat(base); err == nil && shared(info) == nil {
			return filepath.Join(base, "seer-gpus"), nil
		}
	}
	return "", fmt.Errorf("the GPUs cannot be shared with other users: none of %s is a folder for all users; an administrator can make %s with mode 1777", strings.Join(bases, ", "), made)
}

// shared checks that every user can write to a folder, and can remove only what is his.
func shared(info fs.FileInfo) error {
	switch {
	case !info.IsDir():
		return errors.New("it is no folder")
	case info.Mode().Perm() != 0o777 || info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("its mode is %04o and must be 1777", unixMode(info.Mode()))
	}
	return nil
}

func unixMode(m fs.FileMode) fs.FileMode {
	mode := m.Perm()
	if m&fs.ModeSticky != 0 {
		mode |= 0o1000
	}
	return mode
}

// make makes the folder. It appears with its mode, as another user may look at once.
func (f *Folder) make() error {
	info, err := os.Lstat(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.appear(); err != nil {
			return fmt.Errorf("make the folder of claims of GPUs: %w", err)
		}
		info, err = os.Lstat(f.dir)
	}
	if err == nil {
		err = shared(info)
	}
	if err != nil {
		return fmt.Errorf("the folder of claims of GPUs %s cannot be used: %w; remove it, or have an administrator make %s with mode 1777", f.dir, err, Made)
	}
	return nil
}

func (f *Folder) appear() error {
	part, err := os.MkdirTemp(filepath.Dir(f.dir), ".seer-gpus-")
	if err != nil {
		return err
	}
	err = os.Chmod(part, 0o777|fs.ModeSticky)
	if err == nil {
		err = os.Rename(part, f.dir)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	if _, there := os.Lstat(f.dir); there == nil { // somebody was faster
		return nil
	}
	return err
}

// The files in the folder.
const (
	mutexName    = "mutex"
	claimSuffix  = ".claim"
	ticketSuffix = ".ticket"
	maxFile      = 64 << 10
)

// lockPatience is how long the others may take to choose.
const lockPatience = 30 * time.Second

// lock excludes everybody else from choosing.
func (f *Folder) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	path := filepath.Join(f.dir, mutexName)
	for {
		file, err := openMutex(path)
		if err != nil {
			return nil, fmt.Errorf("lock the claims of GPUs: %w", err)
		}
		for {
			err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			if err == nil && current(file, path) {
				return func() { _ = file.Close() }, nil
			}
			if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
				break
			}
			if retry.Sleep(ctx, 5*time.Millisecond) != nil {
				_ = file.Close()
				return nil, fmt.Errorf("lock the claims of GPUs: another program holds %s: %w; find it with fuser, and end it", path, ctx.Err())
			}
		}
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// openMutex opens the file without O_CREAT where it is there: in a sticky folder, the kernel may
// refuse that for files of others (fs.protected_regular).
func openMutex(path string) (*os.File, error) {
	for {
		file, err := openPlain(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		file, err = create(path)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// openPlain opens a regular file to read, and waits for nobody.
func openPlain(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return file, nil
}

// create makes a file that everybody may read, whatever the umask.
func create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o644); err != nil {
		_ = file.Close()
		return nil, errors.Join(err, os.Remove(path))
	}
	return file, nil
}

func current(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, there)
}

// hold makes a file and locks it. The caller has the mutex.
func (f *Folder) hold(name string, content any) (*held, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, name)
	file, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("claim a GPU: %w", err)
	}
	h := &held{file, path}
	if err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		_, err = file.Write(data)
	}
	if err != nil {
		h.release()
		return nil, fmt.Errorf("claim a GPU: write %s: %w", path, err)
	}
	return h, nil
}

// found is a file of the folder whose lock somebody holds.
type found struct {
	name string
	uid  int
	data []byte // nil where it cannot be read
}

// living are the files with a suffix that count, in the order of their names. The caller has
// the mutex, so that the trial of a lock disturbs nobody. What is dead is removed where that
// is allowed.
func (f *Folder) living(suffix string) ([]found, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("read the claims of GPUs: %w", err)
	}
	var out []found
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), suffix) || !entry.Type().IsRegular() {
			continue
		}
		if one, ok := f.look(entry.Name()); ok {
			out = append(out, one)
		}
	}
	return out, nil
}

func (f *Folder) look(name string) (found, bool) {
	path := filepath.Join(f.dir, name)
	file, err := openPlain(path)
	if err != nil {
		return found{}, false
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Remove(path) // the folder is sticky: this does nothing for others'
		return found{}, false
	}
	one := found{name: name, uid: ownerOf(file)}
	if data, err := io.ReadAll(io.LimitReader(file, maxFile+1)); err == nil && len(data) <= maxFile {
		one.data = data
	}
	return one, true
}

func ownerOf(file *os.File) int {
	info, err := file.Stat()
	if err != nil {
		return -1
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func randomText() string { return strings.ToLower(rand.Text()[:12]) }
