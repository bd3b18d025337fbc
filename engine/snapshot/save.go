package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/sdk"
)

// Save stores a snapshot under meta.Name. Of each tree only what is not in the parent's
// is written. Nobody sees it before it is complete, and what is left of one that failed
// is nothing. A name that is taken is an [ExistsError]; a full disk matches [state.ErrNoSpace].
func (s *Store) Save(ctx context.Context, meta Meta, sources []Source) (Snapshot, error) {
	return s.SaveIf(ctx, meta, sources, func() error { return nil })
}

// SaveIf is [Store.Save] that calls good when everything was read and nobody sees the
// snapshot yet. Its error fails the save.
func (s *Store) SaveIf(ctx context.Context, meta Meta, sources []Source, good func() error) (Snapshot, error) {
	meta.Layers = append([]string(nil), meta.Layers...)
	if meta.Created.IsZero() {
		meta.Created = s.now()
	}
	meta.Created = meta.Created.UTC()
	if err := errors.Join(CheckName(meta.Name), meta.check()); err != nil {
		return Snapshot{}, err
	}
	if len(sources) == 0 {
		return Snapshot{}, sdk.Errorf(sdk.Invalid, "the snapshot %s would have nothing in it", meta.Name)
	}
	w, err := s.begin(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer w.end()
	if _, err := s.free(meta.Name); err != nil {
		return Snapshot{}, err
	}
	parent, err := w.parent(ctx, meta)
	if err != nil {
		return Snapshot{}, err
	}
	meta.Parent = parent.ID
	d := document{Version: version, Meta: meta}
	for _, src := range sources {
		if err := w.source(ctx, &d, src, parent); err != nil {
			return Snapshot{}, fmt.Errorf("save %s as %s: %w", src.Name, meta.Name, err)
		}
	}
	if err := d.check(); err != nil {
		return Snapshot{}, err
	}
	if err := good(); err != nil {
		return Snapshot{}, err
	}
	return w.publish(ctx, meta.Name, d, false)
}

// parent finds what to build upon and keeps its parts. One that was not asked for by name
// is only used if it can be.
func (w *work) parent(ctx context.Context, m Meta) (Snapshot, error) {
	if m.Parent == NoParent || m.Parent == "" && m.Sandbox == "" {
		return Snapshot{}, nil
	}
	lock, err := w.store.lock(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer lock.Release()
	var sn Snapshot
	if m.Parent != "" {
		if sn, err = w.store.Get(ctx, m.Parent); err != nil {
			return Snapshot{}, err
		}
		if sn.Damaged != "" {
			return Snapshot{}, sdk.Errorf(sdk.Invalid, "the snapshot %s, which this one was to be based on, is damaged: %s", sn.Name, sn.Damaged)
		}
	} else {
		all, err := w.store.List(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		for _, other := range all {
			if other.Sandbox == m.Sandbox && other.Damaged == "" {
				sn = other
				break
			}
		}
	}
	return sn, w.pin(document{Trees: sn.Trees}.parts())
}

func (w *work) source(ctx context.Context, d *document, src Source, parent Snapshot) error {
	if src.Opaque && src.File != "" {
		b, err := w.opaqueFile(ctx, src.Name, src.File)
		d.Blobs = append(d.Blobs, b)
		return full(w.store.Dir, err)
	}
	r, err := src.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { _ = r.Close() }) // ends a read that hangs
	defer stop()
	if src.Opaque {
		var b Blob
		if b, err = w.opaque(src.Name, r); err == nil {
			d.Blobs = append(d.Blobs, b)
		}
	} else {
		var t Tree
		if t, err = w.tree(ctx, src, r, parent); err == nil {
			d.Trees = append(d.Trees, t)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return full(w.store.Dir, err)
}

func (w *work) opaque(name string, r io.Reader) (Blob, error) {
	b := Blob{Name: name}
	h := sha256.New()
	p, err := w.add(func(to io.Writer) error {
		z, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return err
		}
		b.Bytes, err = io.CopyBuffer(z, io.TeeReader(r, h), make([]byte, 1<<20))
		return errors.Join(err, z.Close())
	})
	b.Part, b.Digest = p, "sha256:"+hex.EncodeToString(h.Sum(nil))
	return b, err
}

// tree saves a tar stream upon the parent's tree of the same name.
func (w *work) tree(ctx context.Context, src Source, r io.Reader, parent Snapshot) (Tree, error) {
	t := Tree{Name: src.Name, Layers: []Part{}}
	old := index{}
	for _, p := range parent.Trees {
		if p.Name != src.Name || len(p.Layers) >= maxLayers/2 { // a chain that is too long begins anew
			continue
		}
		f, err := openPart(ctx, w.path(p.Index.Digest), p.Index)
		if err != nil {
			return t, err
		}
		old, err = readIndex(f, p)
		_ = f.Close()
		if err != nil {
			return t, fmt.Errorf("the snapshot %s: %w", parent.Name, err)
		}
		t.Layers = append(t.Layers, p.Layers...)
	}
	c := collector{ctx: ctx, old: old, seen: index{}, layer: layer{dir: w.dir}, number: len(t.Layers), spool: w.dir, skip: src.Skip, t: &t}
	if err := c.run(r); err != nil {
		c.layer.discard()
		return t, err
	}
	added, err := c.layer.finish()
	if err != nil {
		return t, err
	}
	t.Layers = append(t.Layers, added...)
	t.Entries = int64(len(c.seen))
	t.Index, err = w.add(c.seen.write)
	return t, err
}
