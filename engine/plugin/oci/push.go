package oci

import (
	"bytes"
	"context"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/sdk"
)

// Push puts a bundle under a tag, host/name:tag. Parts that the registry has are not
// sent again, and the same bundle has the same digest whenever it is pushed.
func (c Client) Push(ctx context.Context, ref string, b bundle.Bundle) (bundle.Origin, error) {
	origin := bundle.Origin{Reference: ref}
	if err := b.Check(); err != nil {
		return origin, err
	}
	s, err := c.openTag(ref, b.Version)
	if err != nil {
		return origin, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Total)
	defer cancel()
	blobs, err := artifact(b)
	if err != nil {
		return origin, err
	}
	if err := s.push(ctx, blobs); err != nil {
		return origin, s.explain(ctx, err)
	}
	origin.OCI = blobs[len(blobs)-1].Digest.String()
	at := s.repo.Reference
	at.Reference = origin.OCI
	origin.Resolved = at.String()
	return origin, nil
}

// push sends the manifest last, so that a tag never names what is not there.
func (s session) push(ctx context.Context, blobs []blob) error {
	manifest := blobs[len(blobs)-1]
	for _, part := range blobs[:len(blobs)-1] {
		has, err := s.repo.Blobs().Exists(ctx, part.Descriptor)
		if err == nil && !has {
			err = s.repo.Blobs().Push(ctx, part.Descriptor, bytes.NewReader(part.data))
		}
		if err != nil {
			return err
		}
	}
	return s.repo.Manifests().PushReference(ctx, manifest.Descriptor, bytes.NewReader(manifest.data), s.repo.Reference.Reference)
}

// openTag wants a tag to be named: which one is the author's to say.
func (c Client) openTag(ref, version string) (session, error) {
	bare := strings.TrimPrefix(ref, "oci://")
	parsed, err := parse(ref)
	if err != nil {
		return session{}, err
	}
	named, err := registry.ParseReference(bare)
	if err != nil {
		return session{}, err
	}
	if named.Reference == "" || named.ValidateReferenceAsTag() != nil {
		return session{}, sdk.Errorf(sdk.Invalid, "name the tag to push to, like %s/%s:%s", parsed.Registry, parsed.Repository, strings.ReplaceAll(version, "+", "_"))
	}
	return c.open(parsed)
}
