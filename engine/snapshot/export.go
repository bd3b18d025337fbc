package snapshot

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seer-engine/seer/internal/ctxio"
)

// What the parts of an exported snapshot are called.
const (
	artifactType = "application/vnd.seer.snapshot.v1"
	configType   = "application/vnd.seer.snapshot.config.v1+json"
	indexType    = "application/vnd.seer.snapshot.index.v1.jsonlines+zstd"
	blobType     = "application/vnd.seer.snapshot.blob.v1+zstd"
	plainType    = "application/vnd.seer.snapshot.blob.v1"

	treeAnnotation = "dev.seer.snapshot.part" // the tree or blob that a part is of
)

// Export writes a snapshot as one file: a tar with an OCI image layout in it. All bytes
// are verified on their way; if something is damaged, the file has no proper end. When ctx
// ends while w takes nothing, a write to w may still be under way.
func (s *Store) Export(ctx context.Context, ref string, w io.Writer) error {
	return impatient(ctx, w, func(w io.Writer) error { return s.export(ctx, ref, w) })
}

func (s *Store) export(ctx context.Context, ref string, w io.Writer) error {
	sn, err := s.load(ctx, ref)
	if err != nil {
		return err
	}
	d := sn.document()
	self, err := os.ReadFile(s.blob(sn.ID))
	if err != nil {
		return s.unusable(sn, absent("document", sn.ID, err))
	}
	files, err := s.openParts(d)
	if err != nil {
		return s.unusable(sn, err)
	}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	manifest, err := json.Marshal(ociManifest(d, self, sn.Signature))
	if err != nil {
		return err
	}
	head, err := json.Marshal(layoutIndex(sn, manifest))
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, file := range []struct {
		name string
		data []byte
	}{
		{v1.ImageLayoutFile, []byte(`{"imageLayoutVersion":"` + v1.ImageLayoutVersion + `"}`)},
		{v1.ImageIndexFile, head},
		{blobName(digestOf(manifest)), manifest},
		{blobName(sn.ID), self},
	} {
		if err := writeFile(out, sn, file.name, int64(len(file.data))); err != nil {
			return err
		}
		if _, err := out.Write(file.data); err != nil {
			return err
		}
	}
	done := map[string]bool{}
	for _, p := range d.parts() {
		if done[p.Digest] {
			continue
		}
		done[p.Digest] = true
		if err := exportPart(ctx, out, sn, p, files[p.Digest]); err != nil {
			return err
		}
	}
	return out.Close()
}

// openParts opens all parts, so that nobody takes one away while others are written.
func (s *Store) openParts(d document) (map[string]*os.File, error) {
	files := map[string]*os.File{}
	for _, p := range d.parts() {
		if files[p.Digest] != nil {
			continue
		}
		f, err := os.Open(s.blob(p.Digest))
		if err != nil {
			for _, other := range files {
				_ = other.Close()
			}
			return nil, absent("part", p.Digest, err)
		}
		files[p.Digest] = f
	}
	return files, nil
}

func exportPart(ctx context.Context, out *tar.Writer, sn Snapshot, p Part, f *os.File) error {
	if err := writeFile(out, sn, blobName(p.Digest), p.Size); err != nil {
		return err
	}
	check := digest.Digest(p.Digest).Verifier()
	n, err := io.Copy(out, io.TeeReader(io.LimitReader(ctxio.Reader(ctx, f), p.Size), check))
	if err != nil {
		return err
	}
	if n != p.Size || !check.Verified() {
		return damaged(sn, "its part %s has other bytes", p.Digest)
	}
	return nil
}

func writeFile(out *tar.Writer, sn Snapshot, name string, size int64) error {
	return out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: sn.Created.Truncate(1e9)})
}

func blobName(d string) string { return "blobs/sha256/" + strings.TrimPrefix(d, "sha256:") }

func ociManifest(d document, self []byte, signature Signature) v1.Manifest {
	m := v1.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    v1.MediaTypeImageManifest,
		ArtifactType: artifactType,
		Config:       v1.Descriptor{MediaType: configType, Digest: digest.FromBytes(self), Size: int64(len(self))},
		Layers:       []v1.Descriptor{},
	}
	if signature != (Signature{}) {
		m.Annotations = map[string]string{signedAnnotation: signature.Name, signatureAnnotation: signature.SSH}
	}
	add := func(mediaType, name string, p Part) {
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: mediaType, Digest: digest.Digest(p.Digest), Size: p.Size,
			Annotations: map[string]string{treeAnnotation: name}})
	}
	for _, t := range d.Trees {
		for _, p := range t.Layers {
			add(v1.MediaTypeImageLayerZstd, t.Name, p)
		}
		add(indexType, t.Name, t.Index)
	}
	for _, b := range d.Blobs {
		kind := blobType
		if b.plain() {
			kind = plainType
		}
		add(kind, b.Name, b.Part)
	}
	return m
}

func layoutIndex(sn Snapshot, manifest []byte) v1.Index {
	return v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageIndex,
		Manifests: []v1.Descriptor{{MediaType: v1.MediaTypeImageManifest, ArtifactType: artifactType, Digest: digest.FromBytes(manifest),
			Size: int64(len(manifest)), Annotations: map[string]string{v1.AnnotationRefName: sn.Name}}},
	}
}
