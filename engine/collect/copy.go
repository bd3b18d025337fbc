package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bounds of a tree. What is beyond them stays where it is, with an error.
const (
	maxEntries = 1 << 20
	maxDepth   = 64
)

// Copier copies a tree that its maker may still change.
type Copier struct {
	// Rename gives an entry at the top another name; nil = its own.
	Rename func(name string) string
	// Warn is told once of each kind of thing that was renamed or left out.
	Warn func(format string, args ...any)

	dst     *os.Root
	files   int
	entries int
	renamed names
	skipped names
	failed  []error
	more    int // that have failed, too

	follow bool // for tests: what a link leads to is copied
	keep   bool // for tests: names and modes stay
	limits bool // for tests: set when the bounds below hold
	most   int
	deep   int
}

// temporary is the name of a file while it is written.
const temporary = ".seer-collected.tmp"

// Copy copies the folder name of a root to the folder to, and returns how many
// files there were. Existing files are replaced whole. Files get the mode 0644, or
// 0755 if their owner may execute them.
func (c *Copier) Copy(ctx context.Context, from *os.Root, name string, to *os.Root) (int, error) {
	if !c.limits {
		c.most, c.deep = maxEntries, maxDepth
	}
	src, err := openFolder(from, name)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	c.dst = to
	err = c.folder(ctx, src, ".", 0)
	if len(c.renamed.all) > 0 {
		c.Warn("outputs: programs would obey %s where they lie; each is collected with %s behind its name", c.renamed, suffix)
	}
	if len(c.skipped.all) > 0 {
		c.Warn("outputs: not a plain file and not collected: %s", c.skipped)
	}
	if c.more > 0 {
		c.failed = append(c.failed, fmt.Errorf("%d more could not be collected", c.more))
	}
	return c.files, errors.Join(append(c.failed, err)...)
}

// openFolder opens a folder of a root, and no link to one.
func openFolder(root *os.Root, name string) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !before.IsDir() || !os.SameFile(before, info) {
		f.Close()
		return nil, errors.Join(err, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR})
	}
	return f, nil
}

// folder copies what is in an open folder to the folder target.
func (c *Copier) folder(ctx context.Context, src *os.File, target string, depth int) error {
	if depth > c.deep {
		c.failed = append(c.failed, fmt.Errorf("%q has more than %d folders above it and was not collected", target, c.deep))
		return nil
	}
	for {
		batch, err := src.Readdirnames(512)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for _, name := range batch {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if c.entries++; c.entries > c.most {
				return fmt.Errorf("there are more than %d files and folders; the rest was not collected", c.most)
			}
			if err := c.entry(ctx, src, name, target, depth); err != nil {
				return err
			}
		}
		if err != nil || len(batch) == 0 {
			return nil
		}
	}
}

// entry copies one. Only an error after which nothing else will work is returned.
func (c *Copier) entry(ctx context.Context, folder *os.File, name, target string, depth int) error {
	to := name
	if depth == 0 && c.Rename != nil {
		to = c.Rename(to)
	}
	if safe := Safe(to); safe != to && !c.keep {
		c.renamed.add(path.Join(target, to))
		to = safe
	}
	to = path.Join(target, to)
	src, info, err := c.open(folder, name)
	if errors.Is(err, errOther) {
		c.skipped.add(path.Join(target, name))
		return nil
	}
	if err == nil {
		defer src.Close()
		if info.IsDir() {
			if err = c.dst.MkdirAll(to, 0o755); err == nil {
				return c.folder(ctx, src, to, depth+1)
			}
		} else {
			c.files++
			err = c.file(src, info, to)
		}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	const most = 20 // errors
	switch {
	case err != nil && len(c.failed) < most:
		c.failed = append(c.failed, fmt.Errorf("%q was not collected: %w", to, err))
	case err != nil:
		c.more++
	}
	return nil
}

var errOther = errors.New("neither a plain file nor a folder")

// open opens a plain file or a folder of an open folder, and nothing else: what is there
// may change between any two looks at it.
func (c *Copier) open(folder *os.File, name string) (*os.File, fs.FileInfo, error) {
	var st unix.Stat_t
	nofollow, link := unix.O_NOFOLLOW, unix.AT_SYMLINK_NOFOLLOW
	if c.follow {
		nofollow, link = 0, 0
	}
	if err := unix.Fstatat(int(folder.Fd()), name, &st, link); err != nil {
		return nil, nil, err
	}
	kind := uint32(st.Mode) & unix.S_IFMT //nolint:unconvert // 16 bits on macOS
	if kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return nil, nil, errOther
	}
	fd, err := unix.Openat(int(folder.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|nofollow, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, nil, errOther
	}
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errOther
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// file copies an open file as long as it is now.
func (c *Copier) file(src *os.File, info fs.FileInfo, to string) error {
	mode := fs.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	_ = c.dst.RemoveAll(temporary)
	out, err := c.dst.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = sparse(out, src, info.Size())
	if err == nil && c.keep {
		err = out.Chmod(info.Mode())
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = c.dst.Rename(temporary, to)
	}
	if err != nil {
		_ = c.dst.Remove(temporary)
	}
	return err
}

// sparse copies the data of a file and leaves its holes out, so that the copy takes no
// more of the disk than the file does.
func sparse(out, in *os.File, size int64) error {
	for at := int64(0); at < size; {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // only a hole is left
		}
		end := size
		if err != nil { // the file system knows no holes
			data = at
		} else if hole, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE); err == nil {
			end = min(end, hole)
		}
		if data >= end {
			break
		}
		if err := errors.Join(seek(in, data), seek(out, data)); err != nil {
			return err
		}
		n, err := io.CopyN(out, in, end-data)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n < end-data {
			return nil // it was cut meanwhile
		}
		at = end
	}
	return out.Truncate(size)
}

func seek(f *os.File, to int64) error {
	_, err := f.Seek(to, io.SeekStart)
	return err
}
