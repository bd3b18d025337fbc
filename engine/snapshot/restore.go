package snapshot

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/sdk"
)

// Restore gives out a saved tree as one tar stream: folders first, then files, then links,
// so that nothing is written through a link. An opaque source comes as it was. The
// index is verified before the first byte, and each file's hash while it is given out: if
// something is damaged, the reader ends with an error that names it, and never with
// io.EOF. The snapshot may be removed meanwhile.
func (s *Store) Restore(ctx context.Context, ref, name string) (io.ReadCloser, error) {
	sn, err := s.load(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.restore(ctx, sn, name)
}

func (s *Store) restore(ctx context.Context, sn Snapshot, name string) (io.ReadCloser, error) {
	for _, b := range sn.Blobs {
		if b.Name == name {
			return s.restoreBlob(ctx, sn, b)
		}
	}
	for _, t := range sn.Trees {
		if t.Name == name {
			return s.restoreTree(ctx, sn, t)
		}
	}
	return nil, sdk.Errorf(sdk.NotFound, "the snapshot %s has no %s; it has %s", sn.Name, name, strings.Join(sn.names(), ", "))
}

// Verify reads all of a snapshot and returns what is damaged of it.
func (s *Store) Verify(ctx context.Context, ref string) error {
	sn, err := s.load(ctx, ref)
	if err != nil {
		return err
	}
	for _, p := range sn.document().parts() {
		f, err := openPart(ctx, s.blob(p.Digest), p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return s.unusable(sn, err)
		}
		_ = f.Close()
	}
	for _, name := range sn.names() {
		r, err := s.restore(ctx, sn, name)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// load finds a snapshot that can be used.
func (s *Store) load(ctx context.Context, ref string) (Snapshot, error) {
	sn, err := s.Get(ctx, ref)
	if err == nil && sn.Damaged != "" {
		err = s.unusable(sn, sn.damage())
	}
	return sn, err
}

func (sn Snapshot) document() document {
	return document{Version: version, Meta: sn.Meta, Trees: sn.Trees, Blobs: sn.Blobs}
}

func damaged(sn Snapshot, format string, args ...any) error {
	e := sdk.Errorf(sdk.Invalid, format, args...)
	e.Message = "the snapshot " + sn.Name + " is damaged: " + e.Message + ". It cannot be used; remove it, or import it again"
	return e
}

// unusable is the error of a snapshot that cannot be read. Only what is missing or other than it was
// saved is damage: who cannot read a whole snapshot must not be told to remove it. Another program
// may have removed it since it was found.
func (s *Store) unusable(sn Snapshot, err error) error {
	if now, err := s.readName(sn.Name); errors.Is(err, os.ErrNotExist) || err == nil && now.ID != sn.ID {
		return remedy.For(sdk.Errorf(sdk.NotFound, "the snapshot %s was removed while it was read; list those that there are", sn.Name), remedy.Remedy{Action: remedy.ListSnapshots})
	}
	var found *sdk.Error
	if errors.As(err, &found) {
		return damaged(sn, "%v", err)
	}
	return fmt.Errorf("the snapshot %s cannot be read: %w; it may be whole: make its files readable, and try again", sn.Name, err)
}

// damage is why a snapshot with a Damaged cannot be used.
func (sn Snapshot) damage() error {
	if sn.unread != nil {
		return sn.unread
	}
	return sdk.Errorf(sdk.Invalid, "%s", sn.Damaged)
}

// absent is the error of a file of a snapshot that cannot be opened.
func absent(what, digest string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return sdk.Errorf(sdk.Invalid, "its %s %s is missing", what, digest)
	}
	return fmt.Errorf("its %s %s: %w", what, digest, err)
}

func (sn Snapshot) names() []string {
	var names []string
	for _, t := range sn.Trees {
		names = append(names, t.Name)
	}
	for _, b := range sn.Blobs {
		names = append(names, b.Name)
	}
	return names
}

func (s *Store) restoreTree(ctx context.Context, sn Snapshot, t Tree) (io.ReadCloser, error) {
	var files []*os.File
	fail := func(err error) (io.ReadCloser, error) {
		closeAll(files)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, s.unusable(sn, fmt.Errorf("%s: %w", t.Name, err))
	}
	at, err := openPart(ctx, s.blob(t.Index.Digest), t.Index)
	if err != nil {
		return fail(err)
	}
	x, err := readIndex(at, t)
	_ = at.Close()
	if err != nil {
		return fail(err)
	}
	for _, p := range t.Layers {
		f, err := os.Open(s.blob(p.Digest)) // each file in it is verified by itself
		if err != nil {
			return fail(absent("part", p.Digest, err))
		}
		files = append(files, f)
	}
	m := merger{sn: sn, tree: t, index: x, given: map[string]bool{}}
	return stream(ctx, func(ctx context.Context, w io.Writer) error { return m.run(ctx, w, files) }, files), nil
}

// merger writes the tree that an index describes from the layers that have its contents.
type merger struct {
	sn    Snapshot
	tree  Tree
	index index
	given map[string]bool // files that are out
	out   *tar.Writer
}

func (m *merger) run(ctx context.Context, w io.Writer, layers []*os.File) error {
	m.out = tar.NewWriter(w)
	all := m.index.sorted()
	if err := m.write(all, typeDir); err != nil {
		return err
	}
	for i, f := range layers {
		if err := m.layer(ctx, i, f); err != nil {
			return err
		}
	}
	for _, e := range all {
		if e.Type == typeFile && !m.given[e.Path] {
			return damaged(m.sn, "%s: %q is not in its layer %s", m.tree.Name, e.Path, m.tree.Layers[e.Layer].Digest)
		}
	}
	if err := m.write(all, typeSymlink); err != nil {
		return err
	}
	if err := m.write(all, typeLink, typeGone); err != nil {
		return err
	}
	return m.out.Close()
}

func (m *merger) write(all []*entry, types ...string) error {
	for _, e := range all {
		for _, t := range types {
			if e.Type != t {
				continue
			}
			if err := m.out.WriteHeader(e.header()); err != nil {
				return err
			}
		}
	}
	return nil
}

// layer gives out the files whose content the index sees in this one.
func (m *merger) layer(ctx context.Context, number int, f *os.File) error {
	z, err := zstd.NewReader(ctxio.Reader(ctx, f), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return damaged(m.sn, "%s: %v", m.tree.Layers[number].Digest, err)
	}
	defer z.Close()
	r := tar.NewReader(z)
	buf := make([]byte, 256<<10)
	for {
		hdr, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return damaged(m.sn, "%s: the layer %s cannot be read: %v", m.tree.Name, m.tree.Layers[number].Digest, err)
		}
		e := m.index[hdr.Name]
		if hdr.Typeflag != tar.TypeReg || e == nil || e.Type != typeFile || e.Layer != number {
			continue
		}
		if hdr.Size != e.Size || m.given[e.Path] {
			return damaged(m.sn, "%s: %q has %d bytes instead of %d, or is there twice", m.tree.Name, e.Path, hdr.Size, e.Size)
		}
		m.given[e.Path] = true
		if err := m.file(e, r, buf); err != nil {
			return err
		}
	}
}

func (m *merger) file(e *entry, r io.Reader, buf []byte) error {
	if err := m.out.WriteHeader(e.header()); err != nil {
		return err
	}
	h := sha256.New()
	from := io.TeeReader(r, h)
	if _, err := io.CopyBuffer(struct{ io.Writer }{m.out}, struct{ io.Reader }{from}, buf); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != e.SHA256 {
		return damaged(m.sn, "%s: %q has other bytes than were saved", m.tree.Name, e.Path)
	}
	return nil
}
