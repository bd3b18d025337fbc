package transfer

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// sums hashes the bytes of a file in order.
type sums struct {
	file        File
	sha256, git hash.Hash // nil = not promised
	at          int64     // bytes so far
}

func newSums(f File) *sums {
	s := &sums{file: f}
	if f.SHA256 != "" {
		s.sha256 = sha256.New()
	}
	if f.GitSHA1 != "" {
		s.git = sha1.New()
		fmt.Fprintf(s.git, "blob %d\x00", f.Size)
	}
	return s
}

func (s *sums) write(b []byte) {
	s.at += int64(len(b))
	if s.sha256 != nil {
		s.sha256.Write(b)
	}
	if s.git != nil {
		s.git.Write(b)
	}
}

func (s *sums) verify() error {
	if s.sha256 != nil && !matches(s.sha256, s.file.SHA256) {
		return fmt.Errorf("%w: its SHA-256 is %x, not %s", ErrMismatch, s.sha256.Sum(nil), s.file.SHA256)
	}
	if s.git != nil && !matches(s.git, s.file.GitSHA1) {
		return fmt.Errorf("%w: its git hash is %x, not %s", ErrMismatch, s.git.Sum(nil), s.file.GitSHA1)
	}
	return nil
}

func matches(h hash.Hash, want string) bool {
	return strings.EqualFold(hex.EncodeToString(h.Sum(nil)), want)
}

// follow hashes a file behind the downloads that fill it, and ends with the verdict. It
// reads what the downloads have just written, which the system still has in memory; only
// what an earlier process has left comes from the disk.
func (f *file) follow(ctx context.Context) error {
	s := newSums(f.File)
	if s.sha256 == nil && s.git == nil {
		return nil
	}
	for s.at < f.Size {
		until, err := f.waitPrefix(ctx, s.at)
		if err != nil {
			return err
		}
		if err := f.hash(ctx, s, until); err != nil {
			return err
		}
	}
	return s.verify()
}

// waitPrefix waits for more bytes in a row, and returns where they end.
func (f *file) waitPrefix(ctx context.Context, at int64) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.written.prefix() <= at && ctx.Err() == nil {
		f.changed.Wait()
	}
	return f.written.prefix(), ctx.Err()
}

func (f *file) hash(ctx context.Context, s *sums, until int64) error {
	buf, err := f.run.pool.get(ctx)
	if err != nil {
		return err
	}
	defer f.run.pool.put(buf)
	for s.at < until && ctx.Err() == nil {
		n, err := f.data.ReadAt(buf[:min(int64(len(buf)), until-s.at)], s.at)
		s.write(buf[:n])
		if err != nil && n == 0 {
			return fmt.Errorf("read what was downloaded: %w", err)
		}
	}
	return ctx.Err()
}
