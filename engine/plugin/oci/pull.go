package oci

import (
	"context"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
)

// Pull gets the bundle that host/name:tag or host/name@sha256:… names. Each part has the
// digest that the OCI manifest promises, and that one the digest that is returned.
func (c Client) Pull(ctx context.Context, ref string) (bundle.Bundle, bundle.Origin, error) {
	origin := bundle.Origin{Reference: ref}
	parsed, err := parse(ref)
	if err != nil {
		return bundle.Bundle{}, origin, err
	}
	s, err := c.open(parsed)
	if err != nil {
		return bundle.Bundle{}, origin, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Total)
	defer cancel()
	b, at, err := s.pull(ctx)
	if err != nil {
		return bundle.Bundle{}, origin, s.explain(ctx, err)
	}
	origin.OCI = at.String()
	origin.Resolved = (registry.Reference{Registry: parsed.Registry, Repository: parsed.Repository, Reference: origin.OCI}).String()
	return b, origin, nil
}

func (s session) pull(ctx context.Context) (bundle.Bundle, digest.Digest, error) {
	p, at, err := s.manifest(ctx)
	if err != nil {
		return bundle.Bundle{}, "", err
	}
	var got [4][]byte // the large one last
	for i, desc := range []*v1.Descriptor{p.manifest, p.signature, p.report, p.wasm} {
		if desc == nil {
			continue
		}
		if got[i], err = s.blob(ctx, *desc); err != nil {
			return bundle.Bundle{}, "", err
		}
	}
	wasm, err := unpack(got[3])
	if err != nil {
		return bundle.Bundle{}, "", err
	}
	b, err := bundle.New(wasm, got[0])
	b.Signature, b.Report = got[1], got[2]
	return b, at, err
}

func (s session) manifest(ctx context.Context) (parts, digest.Digest, error) {
	desc, body, err := s.repo.FetchReference(ctx, s.repo.Reference.Reference)
	if err != nil {
		return parts{}, "", err
	}
	text, err := s.quiet().Read(ctx, body, desc.Size, maxOCIManifest)
	if err != nil {
		return parts{}, "", err
	}
	if err := verify("OCI manifest", desc.Digest, text); err != nil {
		return parts{}, "", err
	}
	p, err := read(text, desc.MediaType)
	return p, desc.Digest, err
}

func (s session) blob(ctx context.Context, desc v1.Descriptor) ([]byte, error) {
	body, err := s.repo.Blobs().Fetch(ctx, desc)
	if err != nil {
		return nil, err
	}
	o := s.o
	if desc.MediaType != wasmType {
		o = s.quiet()
	}
	data, err := o.Read(ctx, body, desc.Size, desc.Size)
	if err != nil {
		return nil, err
	}
	return data, verify(desc.MediaType, desc.Digest, data)
}

// quiet is without progress: it is for what is small.
func (s session) quiet() httpretry.Options {
	o := s.o
	o.Progress = nil
	return o
}

func verify(what string, want digest.Digest, data []byte) error {
	if have := digest.FromBytes(data); have != want {
		return sdk.Errorf(sdk.Invalid, "what came as its %s is something else: it has the digest %s instead of %s. Do not use it, and tell who runs the registry", what, have, want)
	}
	return nil
}

// Tags lists the tags of a repository, host/name.
func (c Client) Tags(ctx context.Context, ref string) ([]string, error) {
	parsed, err := parse(ref)
	if err != nil {
		return nil, err
	}
	s, err := c.open(parsed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Total)
	defer cancel()
	tags, err := s.tags(ctx)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return tags, nil
}

func (s session) tags(ctx context.Context) ([]string, error) {
	return registry.Tags(ctx, s.repo)
}
