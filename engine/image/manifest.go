package image

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
)

const (
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	maxConfig      = 8 << 20
	maxLayers      = 1000
)

// layerTypes are the kinds of layers whose content is a plain tar, maybe compressed.
// Docker's name for gzip is the first; the others are OCI's.
var layerTypes = map[string]bool{
	"application/vnd.docker.image.rootfs.diff.tar.gzip": true,
	"application/vnd.docker.image.rootfs.diff.tar":      true,
	"application/vnd.docker.image.rootfs.diff.tar.zstd": true,
	v1.MediaTypeImageLayer:                              true,
	v1.MediaTypeImageLayerGzip:                          true,
	v1.MediaTypeImageLayerZstd:                          true,
}

// found is an image for the platform that is wanted.
type found struct {
	at     digest.Digest
	text   v1.Manifest
	layers []v1.Descriptor
}

// resolve goes from a reference to the manifest of one platform.
func (j job) resolve(ctx context.Context, want v1.Platform) (found, error) {
	data, mediaType, at, err := j.manifest(ctx, j.registry.Reference())
	if err != nil {
		return found{}, err
	}
	if mediaType == v1.MediaTypeImageIndex || mediaType == dockerList {
		chosen, err := j.choose(data, want)
		if err != nil {
			return found{}, err
		}
		if data, mediaType, at, err = j.manifest(ctx, chosen.Digest.String()); err != nil {
			return found{}, err
		}
	}
	if mediaType != v1.MediaTypeImageManifest && mediaType != dockerManifest {
		return found{}, j.fail(sdk.Unsupported, "it is of the type %q; images of the OCI and of Docker since version 1.10 can be used", httpretry.Printable(mediaType))
	}
	f := found{at: at}
	if err := json.Unmarshal(data, &f.text); err != nil {
		return found{}, j.fail(sdk.Invalid, "its manifest cannot be read: %v", err)
	}
	f.layers = f.text.Layers
	return f, j.check(f)
}

// manifest fetches a manifest and says what digest it really has.
func (j job) manifest(ctx context.Context, reference string) ([]byte, string, digest.Digest, error) {
	data, mediaType, err := j.registry.Manifest(ctx, reference)
	if err != nil {
		return nil, "", "", err
	}
	at := digest.FromBytes(data)
	if want, err := digest.Parse(reference); err == nil && want != at {
		return nil, "", "", j.swapped("manifest", want, at)
	}
	return data, mediaType, at, nil
}

// choose finds the image of a platform in an index.
func (j job) choose(data []byte, want v1.Platform) (v1.Descriptor, error) {
	var index v1.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return v1.Descriptor{}, j.fail(sdk.Invalid, "its list of platforms cannot be read: %v", err)
	}
	var others []string
	for _, desc := range index.Manifests {
		if desc.Platform == nil || desc.Digest.Validate() != nil {
			continue
		}
		if fits(*desc.Platform, want) {
			return desc, nil
		}
		if desc.Platform.OS != "unknown" && len(others) < 20 { // attestations are said to be for nothing
			others = append(others, httpretry.Printable(platformText(*desc.Platform)))
		}
	}
	return v1.Descriptor{}, j.fail(sdk.NotFound, "there is none for %s; there are %s", platformText(want), strings.Join(others, ", "))
}

// check holds what a manifest promises against what can be used.
func (j job) check(f found) error {
	if len(f.layers) == 0 || len(f.layers) > maxLayers {
		return j.fail(sdk.Invalid, "it has %d layers", len(f.layers))
	}
	config := f.text.Config
	if config.MediaType != v1.MediaTypeImageConfig && config.MediaType != "application/vnd.docker.container.image.v1+json" {
		return j.fail(sdk.Invalid, "it is not an image but something of the type %q", httpretry.Printable(config.MediaType+f.text.ArtifactType))
	}
	for _, desc := range append([]v1.Descriptor{config}, f.layers...) {
		if desc.Digest.Validate() != nil || desc.Digest.Algorithm() != digest.SHA256 || desc.Size < 0 {
			return j.fail(sdk.Invalid, "a part of it has the digest %.100q and %d bytes, which cannot be", desc.Digest, desc.Size)
		}
	}
	if config.Size > maxConfig {
		return j.fail(sdk.Invalid, "its configuration is said to be of %s", size(config.Size))
	}
	for _, desc := range f.layers {
		if !layerTypes[desc.MediaType] {
			return j.fail(sdk.Unsupported, "a layer is of the type %q, which cannot be unpacked", httpretry.Printable(desc.MediaType))
		}
	}
	return nil
}

// config reads what the image says about how it is to be used.
func (j job) config(ctx context.Context, desc v1.Descriptor, want v1.Platform) (v1.Image, error) {
	var image v1.Image
	body, _, err := j.registry.Blob(ctx, desc.Digest, 0)
	if err != nil {
		return image, err
	}
	data, err := httpretry.Options{Stall: j.o.Stall}.Defaults().Read(ctx, body, desc.Size, maxConfig)
	if err != nil {
		return image, j.explain(ctx, err)
	}
	if have := digest.FromBytes(data); have != desc.Digest {
		return image, j.swapped("configuration", desc.Digest, have)
	}
	if err := json.Unmarshal(data, &image); err != nil {
		return image, j.fail(sdk.Invalid, "its configuration cannot be read: %v", err)
	}
	if !fits(image.Platform, want) {
		return image, j.fail(sdk.NotFound, "it is for %s, not for %s", httpretry.Printable(platformText(image.Platform)), platformText(want))
	}
	return image, nil
}
