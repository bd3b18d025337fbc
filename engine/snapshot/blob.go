package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/sdk"
)

// A large opaque file that hardly shrinks is kept as it is: then a restore need not write
// it anew. Memory full of floating point numbers is such a file.
const (
	plainFrom = 16 << 20
	samples   = 32
	sample    = 64 << 10
)

// plain is a blob whose part is not compressed.
func (b Blob) plain() bool { return b.Part.Digest == b.Digest }

// shrinks looks at pieces of a file and says whether zstd takes a quarter of it away.
func shrinks(f io.ReaderAt, size int64) (bool, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return false, err
	}
	defer z.Close()
	buf, out := make([]byte, sample), make([]byte, 0, 2*sample)
	read, small := 0, 0
	for i := range int64(samples) {
		n, err := f.ReadAt(buf, size/samples*i)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		read += n
		small += len(z.EncodeAll(buf[:n], out))
	}
	return 4*small < 3*read, nil
}

// opaqueFile saves a file, which nobody changes any more.
func (w *work) opaqueFile(ctx context.Context, name, path string) (Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return Blob{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Blob{}, err
	}
	compress := info.Size() < plainFrom
	if !compress {
		if compress, err = shrinks(f, info.Size()); err != nil {
			return Blob{}, err
		}
	}
	if compress {
		return w.opaque(name, ctxio.Reader(ctx, f))
	}
	part, sum, err := w.take(ctx, f, path)
	return Blob{Name: name, Part: part, Digest: part.Digest, Bytes: part.Size, XXH3: sum}, err
}

// take makes a file a part as it is: by a link, or by a copy where that cannot be. The sum
// is that of [Blob].XXH3.
func (w *work) take(ctx context.Context, f *os.File, path string) (p Part, sum string, err error) {
	at := filepath.Join(w.dir, "taken-"+filepath.Base(path))
	x := xxh3.New()
	r := io.TeeReader(f, x)
	if os.Link(path, at) != nil {
		p, err = w.add(func(to io.Writer) error {
			_, err := io.CopyBuffer(to, struct{ io.Reader }{ctxio.Reader(ctx, r)}, make([]byte, 1<<20))
			return err
		})
		return p, sumText(x), err
	}
	synced := make(chan error, 1)
	go func() { synced <- f.Sync() }() // takes longer than reading it
	p.Digest, p.Size, err = hashOf(ctx, r)
	if err = errors.Join(err, <-synced); err != nil {
		return Part{}, "", err
	}
	return p, sumText(x), errors.Join(os.Chmod(at, 0o600), os.Rename(at, w.path(p.Digest)))
}

func sumText(x *xxh3.Hasher) string {
	sum := x.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// Place puts an opaque source of a snapshot that [Store.Get] has found at path, where
// nothing may be. The file is only to be read: it may be the store's own. verify tells whether it is what was saved; until then nothing
// that came of it may be trusted. Of a snapshot that was found by its ID it looks at the
// SHA-256, and otherwise at the quicker sum, where there is one.
func (s *Store) Place(ctx context.Context, sn Snapshot, name, path string) (verify func(context.Context) error, err error) {
	if sn.Damaged != "" {
		return nil, s.unusable(sn, sn.damage())
	}
	for _, b := range sn.Blobs {
		if b.Name == name && b.plain() && os.Link(s.blob(b.Part.Digest), path) == nil {
			return func(ctx context.Context) error { return verifyPlain(ctx, sn, b, path) }, nil
		}
	}
	return func(context.Context) error { return nil }, s.copyOut(ctx, sn, name, path)
}

func verifyPlain(ctx context.Context, sn Snapshot, b Blob, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var same bool
	if b.XXH3 == "" || sn.exact {
		var digest string
		digest, _, err = hashOf(ctx, f)
		same = digest == b.Digest
	} else {
		same, err = b.sums(ctx, f)
	}
	if err == nil && !same {
		err = damaged(sn, "%s has other bytes than were saved", b.Name)
	}
	return err
}

// sums reports whether the bytes have the sum that the blob's should have.
func (b Blob) sums(ctx context.Context, r io.Reader) (bool, error) {
	x := xxh3.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{x}, struct{ io.Reader }{ctxio.Reader(ctx, r)}, make([]byte, 256<<10))
	return n == b.Bytes && sumText(x) == b.XXH3, err
}

// copyOut writes what [Store.Restore] gives out to a new file.
func (s *Store) copyOut(ctx context.Context, sn Snapshot, name, path string) error {
	r, err := s.restore(ctx, sn, name)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return full(path, err)
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, r, make([]byte, 1<<20))
	return full(path, errors.Join(err, f.Close()))
}

// checkPlain holds a blob that is kept as it is to its own size.
func (b Blob) checkPlain() error {
	if b.plain() && b.Part.Size != b.Bytes {
		return sdk.Errorf(sdk.Invalid, "%.80q has %d bytes, and its part, which is the same, has %d", b.Name, b.Bytes, b.Part.Size)
	}
	if b.XXH3 != "" && (!b.plain() || !sumForm().MatchString(b.XXH3)) {
		return sdk.Errorf(sdk.Invalid, "%.80q has the sum %.80q, which cannot be", b.Name, b.XXH3)
	}
	return nil
}

func (s *Store) restoreBlob(ctx context.Context, sn Snapshot, b Blob) (io.ReadCloser, error) {
	f, err := os.Open(s.blob(b.Part.Digest))
	if err != nil {
		return nil, s.unusable(sn, fmt.Errorf("%s: %w", b.Name, absent("part", b.Part.Digest, err)))
	}
	return stream(ctx, func(ctx context.Context, w io.Writer) error {
		z, err := b.bytes(ctxio.Reader(ctx, f))
		if err != nil {
			return damaged(sn, "%s: %v", b.Name, err)
		}
		defer z.Close()
		h := sha256.New()
		n, err := io.CopyBuffer(w, io.TeeReader(io.LimitReader(z, b.Bytes+1), h), make([]byte, 1<<20))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.ErrClosedPipe):
			return err
		case err != nil:
			return damaged(sn, "%s: %v", b.Name, err)
		}
		if n != b.Bytes || "sha256:"+hex.EncodeToString(h.Sum(nil)) != b.Digest {
			return damaged(sn, "%s has other bytes than were saved", b.Name)
		}
		return nil
	}, []*os.File{f}), nil
}

// bytes are those of the blob, out of its part.
func (b Blob) bytes(part io.Reader) (io.ReadCloser, error) {
	if b.plain() {
		return io.NopCloser(part), nil
	}
	z, err := zstd.NewReader(part, zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
