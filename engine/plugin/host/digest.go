package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// digestCache computes files' digests and remembers those of large files on disk,
// by what changes whenever a file does. Hashing a model takes a second a gigabyte.
type digestCache struct{ dir string }

const (
	digestWorthKeeping = 8 << 20
	// A file changed within the clock's grain of being hashed may change again
	// without a trace.
	digestSettled = 2 * time.Second
)

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (c *digestCache) digest(ctx context.Context, root *os.Root, name string) (any, error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entry := ""
	if info.Size() >= digestWorthKeeping {
		if entry, err = c.entry(f); err != nil {
			return nil, err
		}
		if known, err := os.ReadFile(entry); err == nil && hexDigest.Match(known) {
			return string(known), nil
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, f}); err != nil {
		return nil, err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if entry != "" && time.Since(info.ModTime()) > digestSettled {
		c.keep(f, entry, sum)
	}
	return sum, nil
}

func (c *digestCache) entry(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %d %d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()))
	return filepath.Join(c.dir, hex.EncodeToString(key[:])), nil
}

// keep stores a digest if the file is still what it was. It is only a cache: what
// cannot be stored is computed again.
func (c *digestCache) keep(f *os.File, entry, sum string) {
	if now, err := c.entry(f); err != nil || now != entry || privateDir(c.dir) != nil {
		return
	}
	tmp, err := os.CreateTemp(c.dir, ".digest-*")
	if err != nil {
		return
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(sum)
	if closeErr := tmp.Close(); err == nil && closeErr == nil {
		_ = os.Rename(tmp.Name(), entry)
	}
}

// contextReader ends a long read when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
