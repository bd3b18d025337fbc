package oci

import (
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
)

// What the parts of a bundle are called in a registry.
const (
	ArtifactType  = "application/vnd.seer.plugin.v1"
	manifestType  = "application/vnd.seer.plugin.manifest.v1+yaml"
	wasmType      = "application/vnd.seer.plugin.wasm.v1+zstd"
	signatureType = "application/vnd.seer.plugin.signature.v1+ssh"
	reportType    = "application/vnd.seer.plugin.conformance.v1+json"
)

const maxOCIManifest = 256 << 10

// blob is a part of an artifact.
type blob struct {
	v1.Descriptor
	data []byte
}

func newBlob(mediaType, title string, data []byte) blob {
	b := blob{v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, data}
	if title != "" { // so that any program that pulls it has files
		b.Annotations = map[string]string{v1.AnnotationTitle: title}
	}
	return b
}

// artifact makes a bundle's parts, and last the OCI manifest that holds them together.
// Nothing in it depends on when or where it is made.
func artifact(b bundle.Bundle) ([]blob, error) {
	packed, err := compress(b.Wasm)
	if err != nil {
		return nil, err
	}
	config := newBlob(manifestType, "", b.Manifest)
	blobs := []blob{config, newBlob(wasmType, b.ID+".wasm.zst", packed)}
	if b.Signature != nil {
		blobs = append(blobs, newBlob(signatureType, b.ID+".wasm.sig", b.Signature))
	}
	if b.Report != nil {
		blobs = append(blobs, newBlob(reportType, b.ID+".conformance.json", b.Report))
	}
	m := v1.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    v1.MediaTypeImageManifest,
		ArtifactType: ArtifactType,
		Config:       config.Descriptor,
		Annotations:  map[string]string{v1.AnnotationTitle: b.ID, v1.AnnotationVersion: b.Version},
	}
	if text := b.Description(); text != "" {
		m.Annotations[v1.AnnotationDescription] = text
	}
	for _, part := range blobs[1:] {
		m.Layers = append(m.Layers, part.Descriptor)
	}
	text, err := json.Marshal(m)
	return append(blobs, newBlob(v1.MediaTypeImageManifest, "", text)), err
}

// parts are the blobs that a manifest names, as far as they are known to be of a plugin.
type parts struct {
	manifest, wasm, signature, report *v1.Descriptor
}

// read understands an OCI manifest, and refuses one before anything of it is fetched.
func read(text []byte, mediaType string) (parts, error) {
	var m v1.Manifest
	var p parts
	if err := json.Unmarshal(text, &m); err != nil {
		return p, sdk.Errorf(sdk.Invalid, "its manifest cannot be read: %v", err)
	}
	if mediaType != v1.MediaTypeImageManifest || m.ArtifactType != ArtifactType {
		return p, sdk.Errorf(sdk.Invalid, "%s, not a Seer plugin (%s)", kind(m, mediaType), ArtifactType)
	}
	if m.Config.MediaType != manifestType {
		return p, sdk.Errorf(sdk.Invalid, "its config is of the type %.100q, not %s", httpretry.Printable(m.Config.MediaType), manifestType)
	}
	p.manifest = &m.Config
	for i, layer := range m.Layers {
		at := map[string]**v1.Descriptor{wasmType: &p.wasm, signatureType: &p.signature, reportType: &p.report}[layer.MediaType]
		if at == nil {
			continue // of a later Seer
		}
		if *at != nil {
			return p, sdk.Errorf(sdk.Invalid, "it has two layers of the type %s", layer.MediaType)
		}
		*at = &m.Layers[i]
	}
	if p.wasm == nil {
		return p, sdk.Errorf(sdk.Invalid, "it has no layer of the type %s", wasmType)
	}
	return p, p.check()
}

// check holds what is promised against the limits.
func (p parts) check() error {
	for _, part := range []struct {
		desc  *v1.Descriptor
		what  string
		limit int64
	}{
		{p.manifest, "manifest", bundle.MaxManifest}, {p.wasm, "module", bundle.MaxWasm},
		{p.signature, "signature", bundle.MaxSignature}, {p.report, "conformance report", bundle.MaxReport},
	} {
		switch {
		case part.desc == nil:
		case part.desc.Digest.Validate() != nil || part.desc.Digest.Algorithm() != digest.SHA256:
			return sdk.Errorf(sdk.Invalid, "its %s has the digest %.100q, which is not sha256:…", part.what, part.desc.Digest)
		case part.desc.Size < 0 || part.desc.Size > part.limit:
			return sdk.Errorf(sdk.Invalid, "its %s is said to be of %d bytes; at most %d are accepted", part.what, part.desc.Size, part.limit)
		}
	}
	return nil
}

func kind(m v1.Manifest, mediaType string) string {
	switch t := m.ArtifactType; {
	case t != "":
		return fmt.Sprintf("an artifact of the type %.100q", httpretry.Printable(t))
	case mediaType == v1.MediaTypeImageIndex, mediaType == "application/vnd.docker.distribution.manifest.list.v2+json":
		return "a list of images for several platforms"
	case m.Config.MediaType == v1.MediaTypeImageConfig, mediaType == "application/vnd.docker.distribution.manifest.v2+json":
		return "a container image"
	}
	return fmt.Sprintf("something of the type %.100q", httpretry.Printable(mediaType))
}
