package transfer

import (
	"context"
	"os"
)

// Copy is a piece of the file that a file on this computer has, too. It is verified with
// the file: what comes of wrong copies is downloaded again.
type Copy struct {
	Path   string // of the other file
	Offset int64  // in the other file
	At     int64  // in the file
	Length int64  // bytes
}

// copyLocal stores what is on this computer already. A file that cannot be read is no
// error: its bytes are downloaded.
func copyLocal(ctx context.Context, f *file, copies []Copy) error {
	f.mu.Lock()
	skip := f.compare // the copies may be what was wrong
	f.mu.Unlock()
	if skip {
		return nil
	}
	var from *os.File
	defer func() { _ = from.Close() }()
	for _, c := range copies {
		if c.Length <= 0 || c.At < 0 || c.Offset < 0 || c.At > f.Size-c.Length {
			continue
		}
		if from == nil || from.Name() != c.Path {
			_ = from.Close()
			var err error
			if from, err = os.Open(c.Path); err != nil {
				continue
			}
		}
		if err := copyFrom(ctx, f, from, c); err != nil {
			return err
		}
	}
	return nil
}

func copyFrom(ctx context.Context, f *file, from *os.File, c Copy) error {
	buf, err := f.run.pool.get(ctx)
	if err != nil {
		return err
	}
	defer f.run.pool.put(buf)
	for c.Length > 0 {
		n, err := from.ReadAt(buf[:min(int64(len(buf)), c.Length)], c.Offset)
		if n > 0 {
			if err := f.store(ctx, c.At, buf[:n]); err != nil {
				return err
			}
			f.mu.Lock()
			f.claimed.add(span{c.At, c.At + int64(n)})
			f.mu.Unlock()
			c.At, c.Offset, c.Length = c.At+int64(n), c.Offset+int64(n), c.Length-int64(n)
		}
		if err != nil { // the end, or a disk that fails
			return ctx.Err()
		}
	}
	return nil
}
