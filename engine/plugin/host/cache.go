package host

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// diskCache is the folder with the machine code of one plugin. Machine code is
// trusted, so the folder must be the user's own, and a checksum over all of it
// guards against half-written and decayed files, which wazero would run.
type diskCache struct {
	dir  string
	lock *flock.Flock
	good string // the files that the seal was found to be true of
}

const sealFile = "seal"

// openCache locks and checks the folder; another process that wants the same
// plugin waits and then finds the work done.
func (h *Host) openCache(p Plugin) (*diskCache, error) {
	dir := h.codeDir(p)
	for _, d := range []string{h.cacheDir, filepath.Dir(dir), dir} {
		if err := privateDir(d); err != nil {
			return nil, &Error{Fault: FaultCache, File: d, Err: err}
		}
	}
	c := &diskCache{dir: dir, lock: flock.New(dir + ".lock")}
	if err := c.lock.Lock(); err != nil {
		return nil, &Error{Fault: FaultCache, File: dir, Err: err}
	}
	if want, err := os.ReadFile(filepath.Join(dir, sealFile)); err != nil || string(want) != c.sum() {
		c.clear()
	} else {
		c.good = c.files()
	}
	return c, nil
}

func (c *diskCache) unlock() { _ = c.lock.Unlock() }

// clear forgets everything; what cannot be removed shows when it is used.
func (c *diskCache) clear() {
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(c.dir, e.Name()))
	}
}

// seal declares what is there now as good. Mostly it is what was found.
func (c *diskCache) seal() error {
	if c.good != "" && c.good == c.files() {
		return nil
	}
	tmp := filepath.Join(c.dir, "."+sealFile)
	if err := os.WriteFile(tmp, []byte(c.sum()), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(c.dir, sealFile))
}

// files lists names, sizes and times, without reading.
func (c *diskCache) files() string {
	var list strings.Builder
	err := fs.WalkDir(os.DirFS(c.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(name, sealFile) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintf(&list, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		return ""
	}
	return list.String()
}

// sum is a checksum of names and contents. It is no defence against an attacker,
// who cannot write here, but costs a millisecond.
func (c *diskCache) sum() string {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	var size int64
	err := fs.WalkDir(os.DirFS(c.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(name, sealFile) {
			return err
		}
		f, err := os.Open(filepath.Join(c.dir, name)) // tens of MB, which need not be in memory at once
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", name, info.Size())
		n, err := io.Copy(h, f)
		size += n
		return err
	})
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("1 %d %08x\n", size, h.Sum32())
}

// remember replaces a file of a cache as a whole. Where that fails, the file stays as it was.
func remember(file string, data []byte) {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil && closeErr == nil {
		_ = os.Rename(tmp.Name(), file)
	}
}

// privateDir makes a folder that only this user can enter, or makes sure that
// one is.
func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return errors.New("must be a folder, not a link or file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("belongs to user %d, but compiled code must be in a folder of your own; choose another cache folder", st.Uid)
	case st.Mode&0o077 != 0:
		return os.Chmod(path, 0o700)
	}
	return nil
}
