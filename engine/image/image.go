// Package image makes root file systems of OCI images: `image.base` of an experiment on
// this computer. It downloads an image from its registry, checks every digest, and
// unpacks it into a folder of a cache, as an ordinary user too. Nothing that an image
// says reaches beyond that folder.
package image

import (
	"context"
	"net/http"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Options say where images are kept and how they are fetched.
type Options struct {
	Dir      string            // the cache; private to the user
	Platform string            // "linux/amd64", "linux/arm/v7"; default linux on this computer's processor
	Open     Opener            // the client of registries: registry.Open
	Log      func(line string) // what happens, with sizes; nil = nobody
	Insecure bool              // http:// instead of https://, which only this computer's registries may speak

	// Credentials of a registry; nil = those of `docker login`: the file config.json of
	// $DOCKER_CONFIG or ~/.docker, and the helpers that it names. It is asked only when a
	// registry wants some.
	Credentials func(ctx context.Context, host string) (user, password string, err error)

	Transport http.RoundTripper // nil = like http.DefaultTransport
	Stall     time.Duration     // longest silence of a registry; default 1 min
	MaxBytes  int64             // an image that unpacks to more is refused; default 256 GiB
}

// Root is an unpacked image. It is shared: nobody may change what is in Dir.
type Root struct {
	Dir      string   // absolute; the tree that is to be /
	Digest   string   // "sha256:…": of the image's manifest, or of base and layer for a derived one
	Env      []string // "NAME=value", as the image wants them
	Workdir  string   // "" = /
	User     string   // as the image names him: name or number[:group]
	Platform string   // "linux/amd64"
}

const defaultMaxBytes = 256 << 30

// Unpack returns the root file system of an image: `python:3.12`, `ghcr.io/org/name:tag`,
// `host:5000/name@sha256:…`. One that is there already costs a question to the registry,
// and nothing if ref has a digest; when the registry does not answer, what its tag named
// last is used and Log is told how old that is. Two callers that want the same image share
// the work. Errors are [sdk.Error] of the codes invalid, not_found, unauthorized,
// rate_limited, unavailable and unsupported, or match [state.ErrNoSpace].
func Unpack(ctx context.Context, ref string, o Options) (Root, error) {
	o = o.defaults()
	s, err := openStore(o.Dir)
	if err != nil {
		return Root{}, err
	}
	if o.Open == nil {
		return Root{}, sdk.Errorf(sdk.Unsupported, "the image %s: this program has no client of registries", ref)
	}
	r, err := o.Open(ref, o)
	if err != nil {
		return Root{}, err
	}
	j := job{store: s, asked: ref, registry: r, o: o}
	return j.run(ctx)
}

func (o Options) defaults() Options {
	if o.Platform == "" {
		o.Platform = thisPlatform()
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Stall <= 0 {
		o.Stall = time.Minute
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return o
}

// Resolve finds what a path means inside the root, following links as the image's own
// programs would, and returns where that is on this computer. It never leaves Dir.
func (r Root) Resolve(path string) (string, error) {
	found, err := resolveIn(r.Dir, path)
	if err != nil {
		return "", sdk.Errorf(sdk.NotFound, "the image %s has no %s: %v", short(r.Digest), path, err)
	}
	return found, nil
}
