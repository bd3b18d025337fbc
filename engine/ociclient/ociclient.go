// Package ociclient is how Seer speaks to OCI registries, for images and for bundles of
// plugins: with the bounds of [transfer], and with the logins of `docker login`.
package ociclient

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
)

// Credentials gives the name and the password for a registry's host; both empty = nobody.
type Credentials func(ctx context.Context, host string) (user, password string, err error)

// Options say how a registry is spoken to.
type Options struct {
	Transfer    httpretry.Options
	PlainHTTP   bool        // http:// instead of https://, which only this computer's registries may speak
	Credentials Credentials // nil = those of `docker login`: config.json of $DOCKER_CONFIG or ~/.docker, and the helpers that it names
	Metadata    int64       // bytes that a manifest may have
}

// ErrLogin is in the error of a request for which the saved login cannot be read.
var ErrLogin = errors.New("the saved login cannot be read")

// Open gives the repository of a reference. Nothing is asked of the registry yet.
// Errors: Invalid when plain HTTP is wanted of another computer.
func Open(ref registry.Reference, o Options) (*remote.Repository, error) {
	if o.PlainHTTP && !httpretry.Loopback(Hostname(ref)) {
		return nil, sdk.Errorf(sdk.Invalid, "%s: only a registry on this computer may be spoken to by plain HTTP", ref.Registry)
	}
	return &remote.Repository{
		Reference: ref,
		PlainHTTP: o.PlainHTTP,
		Client: &auth.Client{
			Client:     o.Transfer.Client(),
			Credential: credential(o.Credentials),
			Cache:      auth.NewCache(),
			ClientID:   "seer",
			Header:     map[string][]string{"User-Agent": {"seer"}},
		},
		MaxMetadataBytes: o.Metadata,
		TagListMaxPages:  20,
	}, nil
}

// Hostname is the registry's host without its port.
func Hostname(ref registry.Reference) string {
	return (&url.URL{Host: ref.Registry}).Hostname()
}

// HasLogin reports whether there are credentials for a registry, or some that cannot be
// read. Own is that of [Options].
func HasLogin(ctx context.Context, ref registry.Reference, own Credentials) bool {
	found, err := credential(own)(ctx, ref.Host())
	return err != nil || found != auth.EmptyCredential
}

func credential(own Credentials) auth.CredentialFunc {
	if own != nil {
		return func(ctx context.Context, host string) (auth.Credential, error) {
			user, password, err := own(ctx, host)
			return auth.Credential{Username: user, Password: password}, err
		}
	}
	load := sync.OnceValues(func() (*credentials.DynamicStore, error) {
		return credentials.NewStoreFromDocker(credentials.StoreOptions{})
	})
	return func(ctx context.Context, host string) (auth.Credential, error) {
		store, err := load()
		if err != nil {
			return auth.EmptyCredential, errors.Join(ErrLogin, err)
		}
		cred, err := credentials.Credential(store)(ctx, host)
		if err != nil {
			return auth.EmptyCredential, errors.Join(ErrLogin, err)
		}
		return cred, nil
	}
}
