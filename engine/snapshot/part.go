package snapshot

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/sdk"
)

// maxWindow is the memory that a compressed part may want of who reads it.
const maxWindow = 128 << 20

// partFile is a part that is being written; its name will be its digest.
type partFile struct {
	f    *os.File
	buf  *bufio.Writer
	hash hash.Hash
	size int64
}

func newPart(dir string) (*partFile, error) {
	f, err := os.CreateTemp(dir, "part-*")
	if err != nil {
		return nil, err
	}
	p := &partFile{f: f, hash: sha256.New()}
	p.buf = bufio.NewWriterSize(f, 1<<20)
	return p, nil
}

func (p *partFile) Write(data []byte) (int, error) {
	p.hash.Write(data)
	n, err := p.buf.Write(data)
	p.size += int64(n)
	return n, err
}

func (p *partFile) finish() (Part, error) {
	part := Part{Digest: "sha256:" + hex.EncodeToString(p.hash.Sum(nil)), Size: p.size}
	if err := errors.Join(p.buf.Flush(), p.f.Sync(), p.f.Close()); err != nil {
		return Part{}, errors.Join(err, os.Remove(p.f.Name()))
	}
	return part, os.Rename(p.f.Name(), filepath.Join(filepath.Dir(p.f.Name()), part.Digest[len("sha256:"):]))
}

func (p *partFile) discard() {
	_ = p.f.Close()
	_ = os.Remove(p.f.Name())
}

// layer is a tree's new layer. It has no file until something is in it.
type layer struct {
	dir  string
	part *partFile
	z    *zstd.Encoder
	tar  *tar.Writer
}

func (l *layer) open() error {
	if l.part != nil {
		return nil
	}
	var err error
	if l.part, err = newPart(l.dir); err != nil {
		return err
	}
	if l.z, err = zstd.NewWriter(l.part, zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
		return err
	}
	l.tar = tar.NewWriter(l.z)
	return nil
}

// add writes an entry with its content. The index has what is exact; a layer's times are
// whole seconds, which need no extended headers.
func (l *layer) add(e *entry, content io.Reader) error {
	if err := l.open(); err != nil {
		return err
	}
	plain := *e
	plain.MTime -= plain.MTime % 1e9
	if err := l.tar.WriteHeader(plain.header()); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	_, err := io.Copy(l.tar, content)
	return err
}

// finish returns nothing for a layer in which nothing is.
func (l *layer) finish() ([]Part, error) {
	if l.part == nil {
		return nil, nil
	}
	if err := errors.Join(l.tar.Close(), l.z.Close()); err != nil {
		l.part.discard()
		return nil, err
	}
	p, err := l.part.finish()
	return []Part{p}, err
}

func (l *layer) discard() {
	if l.part == nil {
		return
	}
	if l.z != nil {
		_ = l.z.Close()
	}
	l.part.discard()
}

// openPart opens a part whose digest is verified.
func openPart(ctx context.Context, path string, p Part) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, absent("part", p.Digest, err)
	}
	digest, n, err := hashOf(ctx, f)
	if err == nil && (n != p.Size || digest != p.Digest) {
		err = sdk.Errorf(sdk.Invalid, "its part %s has other bytes", p.Digest)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func hashOf(ctx context.Context, r io.Reader) (string, int64, error) {
	h := sha256.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{ctxio.Reader(ctx, r)}, make([]byte, 1<<20))
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, err
}
