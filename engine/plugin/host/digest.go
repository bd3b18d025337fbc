package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// digestCache computes files' digests and remembers those of large files on disk,
// by what changes whenever a file does. Hashing a model takes a second a gigabyte.
type digestCache struct{ dir string }

const (
	digestWorthKeeping = 8 << 20
	digestBuffer       = 1 << 20 // fewer reads
	// A file changed within the clock's grain of being hashed may change again
	// without a trace.
	digestSettled = 2 * time.Second
)

var hexDigest = lazyregexp.New(`^[0-9a-f]{64}$`)

// answer is the digest of a file, which may have been begun before. What the guest asks for
// next is begun.
func (c *digestCache) answer(ctx context.Context, root *os.Root, name string, g *grants, in sdk.FolderInput) (any, error) {
	g.ahead.begin(ctx, c, in)
	if begun := g.ahead.take(in.Folder, name); begun != nil {
		select {
		case <-begun.done:
			return begun.sum, begun.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.digest(ctx, root, name)
}

// ahead computes digests before a guest asks for them. The zero value computes none.
type ahead struct {
	mu     sync.Mutex
	folder string
	queue  []string // paths that nobody has begun
	begun  map[string]*begunDigest

	cancel  context.CancelFunc // nil = nothing was begun
	workers sync.WaitGroup
}

type begunDigest struct {
	done chan struct{} // closed when the others are set
	sum  string
	err  error
}

// begin takes the files that a guest will ask for, in the place of those that it has named
// before. The guest's own call computes as well, so that there is one worker less than
// processors.
func (a *ahead) begin(ctx context.Context, c *digestCache, in sdk.FolderInput) {
	if len(in.Next) == 0 {
		return
	}
	a.stop()
	ctx, a.cancel = context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.folder, a.queue, a.begun = in.Folder, nil, map[string]*begunDigest{}
	for _, name := range in.Next[:min(len(in.Next), maxEntries)] {
		if fs.ValidPath(name) {
			a.queue = append(a.queue, filepath.FromSlash(name))
		}
	}
	for range min(runtime.GOMAXPROCS(0)-1, len(a.queue)) {
		a.workers.Go(func() { a.work(ctx, c, in.Folder) })
	}
}

// work computes one digest after the other.
func (a *ahead) work(ctx context.Context, c *digestCache, folder string) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return // the guest's call finds the reason
	}
	defer root.Close()
	for ctx.Err() == nil {
		name, b := a.next()
		if b == nil {
			return
		}
		b.sum, b.err = c.digest(ctx, root, name)
		close(b.done)
	}
}

func (a *ahead) next() (string, *begunDigest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return "", nil
	}
	name := a.queue[0]
	a.queue = a.queue[1:]
	b := &begunDigest{done: make(chan struct{})}
	a.begun[name] = b
	return name, b
}

// take finds the digest of a file that was begun. One that was not is the caller's.
func (a *ahead) take(folder, name string) *begunDigest {
	a.mu.Lock()
	defer a.mu.Unlock()
	if folder != a.folder {
		return nil
	}
	if b := a.begun[name]; b != nil {
		delete(a.begun, name) // a file that is asked for again may have changed
		return b
	}
	a.queue = slices.DeleteFunc(a.queue, func(q string) bool { return q == name })
	return nil
}

// stop ends the work, and waits for that.
func (a *ahead) stop() {
	if a.cancel != nil {
		a.cancel()
		a.workers.Wait()
	}
}

func (c *digestCache) digest(ctx context.Context, root *os.Root, name string) (sum string, err error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	entry := ""
	if info.Size() >= digestWorthKeeping {
		if entry, err = c.entry(f); err != nil {
			return "", err
		}
		if known, err := os.ReadFile(entry); err == nil && hexDigest().Match(known) {
			return string(known), nil
		}
	}
	h := sha256.New()
	buffer := make([]byte, min(max(info.Size(), 512), digestBuffer))
	if _, err := io.CopyBuffer(h, ctxio.Reader(ctx, f), buffer); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
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
	remember(entry, []byte(sum))
}
