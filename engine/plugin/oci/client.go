// Package oci keeps bundles in OCI registries, and gets them from wherever a reference
// leads. docs/plugins/trust.md has the form of the artifact.
package oci

import (
	"context"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/seer-engine/seer/engine/ociclient"
	"github.com/seer-engine/seer/internal/httpretry"
)

// Client speaks to registries. The zero value is usable, from many goroutines.
type Client struct {
	Transfer  httpretry.Options
	PlainHTTP bool // http:// instead of https://, which only this computer's registries may speak

	// Credentials of a registry; nil = those of `docker login`: the file config.json of
	// $DOCKER_CONFIG or ~/.docker, and the helpers that it names. It is asked only when a
	// registry wants some.
	Credentials func(ctx context.Context, host string) (user, password string, err error)
}

// session is a client at work on one repository.
type session struct {
	o    httpretry.Options
	repo *remote.Repository
}

func (c Client) open(ref registry.Reference) (session, error) {
	o := c.Transfer.Defaults()
	repo, err := ociclient.Open(ref, ociclient.Options{Transfer: o, PlainHTTP: c.PlainHTTP, Credentials: c.Credentials, Metadata: maxOCIManifest})
	return session{o: o, repo: repo}, err
}
