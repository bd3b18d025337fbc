// Package oci keeps bundles in OCI registries, and gets them from wherever a reference
// leads. docs/plugins/trust.md has the form of the artifact.
package oci

import (
	"context"
	"errors"
	"sync"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/seer-engine/seer/engine/plugin/bundle/transfer"
	"github.com/seer-engine/seer/sdk"
)

// Client speaks to registries. The zero value is usable, from many goroutines.
type Client struct {
	Transfer  transfer.Options
	PlainHTTP bool // http:// instead of https://, which only this computer's registries may speak

	// Credentials of a registry; nil = those of `docker login`: the file config.json of
	// $DOCKER_CONFIG or ~/.docker, and the helpers that it names. It is asked only when a
	// registry wants some.
	Credentials func(ctx context.Context, host string) (user, password string, err error)
}

// session is a client at work on one repository.
type session struct {
	o    transfer.Options
	repo *remote.Repository
}

func (c Client) open(ref registry.Reference) (session, error) {
	if c.PlainHTTP && !transfer.Loopback(hostname(ref)) {
		return session{}, sdk.Errorf(sdk.Invalid, "%s: only a registry on this computer may be spoken to by plain HTTP", ref.Registry)
	}
	o := c.Transfer.Defaults()
	return session{o: o, repo: &remote.Repository{
		Reference: ref,
		PlainHTTP: c.PlainHTTP,
		Client: &auth.Client{
			Client:     o.Client(),
			Credential: c.credential(),
			Cache:      auth.NewCache(),
			ClientID:   "seer",
			Header:     map[string][]string{"User-Agent": {"seer"}},
		},
		MaxMetadataBytes: maxOCIManifest,
		TagListMaxPages:  20,
	}}, nil
}

// credential asks for what `docker login` has left, or for the caller's own.
func (c Client) credential() auth.CredentialFunc {
	if c.Credentials != nil {
		return func(ctx context.Context, host string) (auth.Credential, error) {
			user, password, err := c.Credentials(ctx, host)
			return auth.Credential{Username: user, Password: password}, err
		}
	}
	load := sync.OnceValues(func() (*credentials.DynamicStore, error) {
		return credentials.NewStoreFromDocker(credentials.StoreOptions{})
	})
	return func(ctx context.Context, host string) (auth.Credential, error) {
		store, err := load()
		if err != nil {
			return auth.EmptyCredential, errors.Join(errLogin, err)
		}
		cred, err := credentials.Credential(store)(ctx, host)
		if err != nil {
			return auth.EmptyCredential, errors.Join(errLogin, err)
		}
		return cred, nil
	}
}

var errLogin = errors.New("the saved login cannot be read")
