package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/seer-engine/seer/engine/protocol/tartree"
)

// Upload copies a file or the content of a folder to the machine. Modes, times
// and symlinks that stay inside are kept. Files that vanish or may not be read while a
// folder is copied are the error, a [*tartree.PartialError], after the rest has been written.
func (c Files) Upload(ctx context.Context, local, remote string) error {
	info, err := os.Stat(local)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return c.uploadTree(ctx, local, remote)
	}
	f, err := openSoon(ctx, local)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.WriteOpen(ctx, remote, f)
}

// openSoon is [os.Open] that ends with ctx: that of a named pipe waits for its writer.
func openSoon(ctx context.Context, path string) (*os.File, error) {
	var f *os.File
	var err error
	opened := make(chan struct{})
	go func() {
		f, err = os.Open(path)
		close(opened)
	}()
	select {
	case <-opened:
		return f, err
	case <-ctx.Done():
		go func() {
			<-opened
			if err == nil {
				f.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// WriteOpen is [Files.Write] of a file from where it stands, with its mode. A file that grows
// meanwhile is stored with its first length. A file that becomes shorter is an error, and
// nothing is stored. A file that is not plain, or has content but no size, as in /proc, is
// stored until it ends.
func (c Files) WriteOpen(ctx context.Context, path string, f fs.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return c.Write(ctx, path, f, info.Mode())
	}
	whole := &wholeReader{f: f, size: info.Size(), left: info.Size()}
	err = c.write(ctx, path, whole, info.Mode())
	if whole.short.Load() {
		return fmt.Errorf("%s became shorter while it was read; nothing was stored", info.Name())
	}
	return err
}

// wholeReader reads as much as a file had at first, and fails where it has less by now.
type wholeReader struct {
	f          fs.File
	size, left int64
	short      atomic.Bool // the transport may still read when the answer is there
}

func (w *wholeReader) Read(p []byte) (int, error) {
	if w.left == 0 {
		return 0, io.EOF
	}
	n, err := w.f.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	if errors.Is(err, io.EOF) && w.left > 0 {
		// Files of /sys never have the size that they tell.
		if info, serr := w.f.Stat(); serr == nil && info.Size() >= w.size {
			return n, err
		}
		w.short.Store(true)
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

func (c Files) uploadTree(ctx context.Context, local, remote string) error {
	r, w := io.Pipe()
	var left tartree.Unread
	packed := make(chan error, 1)
	go func() {
		var err error
		left, err = tartree.PackCounted(w, local, counter(ctx))
		w.CloseWithError(err)
		packed <- err
	}()
	err := c.put(ctx, "/v1/tree", pathQuery(remote), r)
	r.Close()
	if perr := <-packed; perr != nil && !errors.Is(perr, io.ErrClosedPipe) {
		return perr // not what the other side makes of it
	}
	if err != nil {
		return err
	}
	return left.Err()
}
