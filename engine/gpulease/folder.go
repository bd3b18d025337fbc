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

// Made is the folder that an administrator can create for the claims, with mode 1777. If it
// exists, no other folder is used.
const Made = "/run/seer-gpus"

// bases are the folders for the folder of claims if [Made] does not exist. The first one that all
// users can write to counts. They are local to this computer, and empty after its start.
var bases = [...]string{"/run/lock", "/dev/shm", "/tmp"}

// Folder is the folder of claims and tickets.
type Folder struct {
	dir   string
	uid   int
	ask   Asker
	after func(time.Duration) <-chan time.Time
	users sync.Map // number → name: a lookup may query a server
}

// Options are the options of [Open].
type Options struct {
	Dir string // empty = the folder that all users of this computer share
	// Ask queries the driver for the use of the GPUs; default [NvidiaSMI].
	Ask   Asker
	After func(time.Duration) <-chan time.Time // default [time.After]
}

// Open finds the folder, and creates it if it does not exist. The choice depends on nothing that
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

// shared checks that every user can write to a folder, but can remove only their own files.
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

// make creates the folder. The folder appears with its final mode, because another user may check
// it at once.
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
	if _, there := os.Lstat(f.dir); there == nil { // another program was faster
		return nil
	}
	return err
}

// Names of the files in the folder, and their size limit in bytes.
const (
	mutexName    = "mutex"
	claimSuffix  = ".claim"
	ticketSuffix = ".ticket"
	maxFile      = 64 << 10
)

// lockPatience limits the wait for other programs that choose GPUs.
const lockPatience = 30 * time.Second

// lock takes the mutex of the folder, so that no other program chooses GPUs meanwhile.
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

// openMutex uses O_CREAT only if the file does not exist: in a sticky folder, the kernel may refuse
// O_CREAT for other users' files (fs.protected_regular).
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

// openPlain opens a regular file for reading. It never blocks, and follows no symbolic link.
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

// create creates a file that every user can read, regardless of the umask.
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

// hold creates a file and locks it. The caller holds the mutex.
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

// found is a file of the folder whose lock a process holds.
type found struct {
	name string
	uid  int
	data []byte // nil = not readable, or too large
}

// living returns the files with a suffix whose lock a process holds, in the order of their names.
// It removes the other ones if the folder permits it. The caller holds the mutex, so that a tried
// lock disturbs no other program.
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
		_ = os.Remove(path) // fails for other users' files, because the folder is sticky
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
