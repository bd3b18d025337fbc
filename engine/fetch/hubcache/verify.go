package hubcache

import (
	"context"
	"crypto/sha1"
	sha2 "crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
)

// stamp changes when a file may have other content.
type stamp struct {
	dev, inode   uint64
	size         int64
	mtime, ctime int64 // ns
}

// stampOf is the stamp of the file that path leads to. It reports whether that is a regular one.
func stampOf(path string) (s stamp, regular bool, err error) { return stampBy(unix.Stat, path) }

func stampBy(stat func(string, *unix.Stat_t) error, path string) (s stamp, regular bool, err error) {
	var st unix.Stat_t
	if err := stat(path, &st); err != nil {
		return stamp{}, false, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	dev := uint64(st.Dev) //nolint:unconvert // 32 bits on macOS
	s = stamp{dev: dev, inode: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano()}
	return s, st.Mode&unix.S_IFMT == unix.S_IFREG, nil
}

// notes remember which files had the content that the name of a blob promises: a file for
// each, named by the blob and the inode, with the rest of the stamp in it. Small files have
// none: to hash one costs no more than to read its note.
type notes string

const smallFile = 64 << 10 // bytes

func (c Cache) notes() notes { return notes(filepath.Join(c.Own, Source, ".verified")) }

func (n notes) path(blob string, s stamp) string {
	return filepath.Join(string(n), fmt.Sprintf("%s-%x-%x", blob, s.dev, s.inode))
}

func (s stamp) text() string { return fmt.Sprintf("%d %d %d\n", s.size, s.mtime, s.ctime) }

func (n notes) have(blob string, s stamp) bool {
	text, err := os.ReadFile(n.path(blob, s))
	return err == nil && string(text) == s.text()
}

// remember notes that the file at path has the content of the blob, as it is now.
func (n notes) remember(blob, path string) error {
	s, regular, err := stampOf(path)
	if err != nil {
		return err
	}
	if !regular {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if s.size < smallFile || n.have(blob, s) {
		return nil
	}
	if err := os.MkdirAll(string(n), 0o700); err != nil {
		return err
	}
	// Not synced, as there are thousands: a note that a crash has spoiled matches no file.
	return state.NoSpace(string(n), os.WriteFile(n.path(blob, s), []byte(s.text()), 0o600))
}

// ofView is the note on a whole view, so that one file is read for thousands.
func (n notes) ofView(view string) string {
	return filepath.Join(string(n), fmt.Sprintf("view-%x", sha2.Sum256([]byte(view))))
}

func (n notes) haveView(view, stamps string) bool {
	text, err := os.ReadFile(n.ofView(view))
	return err == nil && string(text) == stamps
}

// rememberView notes that all files of a view have their content, as they are now.
func (n notes) rememberView(view, stamps string) error {
	if err := os.MkdirAll(string(n), 0o700); err != nil {
		return err
	}
	return state.WriteFile(n.ofView(view), []byte(stamps), 0o600)
}

// sweep removes the notes of all files but those that are there, by device and inode.
func (n notes) sweep(there map[[2]uint64]bool) error {
	entries, err := os.ReadDir(string(n))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		kind, file, _ := strings.Cut(e.Name(), "-")
		var id [2]uint64
		_, err := fmt.Sscanf(file, "%x-%x", &id[0], &id[1])
		if kind != "view" && (err != nil || there[id]) {
			continue // a note on a view is made again from the others
		}
		if err := removeFile(filepath.Join(string(n), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// verdict is what was found where a blob should be.
type verdict int

const (
	absent verdict = iota
	wrong
	right
)

// look finds whether the file at path has the content of a blob. It reads the file unless
// that was done since it last changed. Links are followed.
func (n notes) look(ctx context.Context, blob string, size int64, path string) (verdict, error) {
	s, regular, err := stampOf(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	if !regular || s.size != size {
		return wrong, nil
	}
	if s.size >= smallFile && n.have(blob, s) {
		return right, nil
	}
	sum, err := hashFile(ctx, blob, path, nil)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return absent, nil
	case err != nil:
		return absent, err
	case sum != blob:
		return wrong, nil
	}
	return right, n.remember(blob, path)
}

// hashFile hashes a file as the name of the blob demands. Progress receives how many more
// bytes were read; nil = nobody.
func hashFile(ctx context.Context, blob, path string, progress func(int)) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	var h hash.Hash
	if sha256().MatchString(blob) {
		h = sha2.New()
	} else {
		h = sha1.New()
		fmt.Fprintf(h, "blob %d\x00", info.Size())
	}
	buf := make([]byte, min(1<<20, info.Size()+1))
	if _, err := io.CopyBuffer(h, reader{ctx, f, progress}, buf); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reader ends with its context.
type reader struct {
	ctx      context.Context
	r        io.Reader
	progress func(int) // nil = nobody
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(b)
	if r.progress != nil {
		r.progress(n)
	}
	return n, err
}
