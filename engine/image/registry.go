package image

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
)

// MaxManifest is the size of the largest manifest that is read.
const MaxManifest = 4 << 20

// Registry is one reference at its registry. Its errors are [sdk.Error] that name the image.
type Registry interface {
	Name() string      // in full, with the registry and the tag or digest
	Reference() string // the tag or digest
	// Login is the host for which there are credentials, or some that cannot be read; empty
	// = none. It asks no registry.
	Login(ctx context.Context) (host string)
	// Manifest fetches a manifest or an index by tag or digest, at most MaxManifest bytes.
	Manifest(ctx context.Context, reference string) (data []byte, mediaType string, err error)
	// Blob asks for a blob from an offset on, and says from where it really comes.
	Blob(ctx context.Context, blob digest.Digest, from int64) (body io.ReadCloser, start int64, err error)
}

// Opener makes the [Registry] of a reference. engine/image/registry has the real one.
type Opener func(ref string, o Options) (Registry, error)
