// Package registry fetches images from OCI and Docker registries, with the logins of
// `docker login`. It is apart from image so that a program without it links no client.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/ociclient"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// remoteImage is one reference at its registry.
type remoteImage struct {
	asked string // as the user wrote it
	ref   registry.Reference
	repo  *remote.Repository
	creds ociclient.Credentials
	read  httpretry.Options // for what is small
}

// Open is an [image.Opener].
func Open(ref string, o image.Options) (image.Registry, error) {
	parsed, err := parse(ref)
	if err != nil {
		return nil, err
	}
	read := httpretry.Options{Transport: o.Transport, Stall: o.Stall}.Defaults()
	repo, err := ociclient.Open(parsed, ociclient.Options{Transfer: read, PlainHTTP: o.Insecure, Credentials: o.Credentials, Metadata: image.MaxManifest})
	if err != nil {
		return nil, err
	}
	return remoteImage{asked: ref, ref: parsed, read: read, repo: repo, creds: o.Credentials}, nil
}

// Name implements [image.Registry].
func (r remoteImage) Name() string { return r.ref.String() }

// Reference implements [image.Registry].
func (r remoteImage) Reference() string { return r.ref.Reference }

// Login implements [image.Registry].
func (r remoteImage) Login(ctx context.Context) string {
	if ociclient.HasLogin(ctx, r.ref, r.creds) {
		return r.ref.Registry
	}
	return ""
}

// Manifest implements [image.Registry].
func (r remoteImage) Manifest(ctx context.Context, reference string) (data []byte, mediaType string, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.read.Total)
	defer cancel()
	desc, body, err := r.repo.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return nil, "", r.explain(ctx, err)
	}
	data, err = r.read.Read(ctx, body, desc.Size, image.MaxManifest)
	if err != nil {
		return nil, "", r.explain(ctx, err)
	}
	return data, desc.MediaType, nil
}

// Blob implements [image.Registry].
func (r remoteImage) Blob(ctx context.Context, blob digest.Digest, from int64) (io.ReadCloser, int64, error) {
	ref := r.ref
	ref.Reference = blob.String()
	scheme := "https"
	if r.repo.PlainHTTP {
		scheme = "http"
	}
	at := fmt.Sprintf("%s://%s/v2/%s/blobs/%s", scheme, ref.Host(), ref.Repository, blob)
	ctx = auth.AppendRepositoryScope(ctx, ref, auth.ActionPull)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, 0, err
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := r.repo.Client.Do(req)
	if err != nil {
		return nil, 0, r.explain(ctx, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp.Body, 0, nil
	case http.StatusPartialContent:
		return resp.Body, from, nil
	}
	_ = resp.Body.Close()
	return nil, 0, r.explain(ctx, httpretry.Status(resp))
}

// explain says what failed where, and what to do about it.
func (r remoteImage) explain(ctx context.Context, err error) error {
	var answer *errcode.ErrorResponse
	var coded *sdk.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.Is(err, ociclient.ErrLogin):
		return r.fail(sdk.Unauthorized, "the saved login for %s cannot be read: %s", r.ref.Registry, plain(err))
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return r.fail(sdk.Unauthorized, "it wants a login, and there is none. %s", r.login())
	case errors.Is(err, errdef.ErrNotFound):
		return r.fail(sdk.NotFound, "there is no such image or tag. Look at its name; %s", r.login())
	case errors.Is(err, http.ErrSchemeMismatch):
		return r.fail(sdk.Invalid, "this registry speaks plain HTTP, which is accepted of this computer only, and when it is asked for")
	case errors.As(err, &answer):
		return r.answered(answer)
	}
	if err = httpretry.Failure(ctx, err); !errors.As(err, &coded) {
		return err
	}
	if coded.Code == sdk.Unauthorized {
		return r.fail(coded.Code, "access is refused: %s. %s", plain(err), r.login())
	}
	e := r.fail(coded.Code, "%s", plain(err))
	e.Seconds = coded.Seconds
	return e
}

func (r remoteImage) answered(answer *errcode.ErrorResponse) error {
	said := httpretry.Printable(answer.Errors.Error())
	if len(answer.Errors) == 0 {
		said = http.StatusText(answer.StatusCode)
	}
	switch code := httpretry.Code(answer.StatusCode); code {
	case sdk.NotFound:
		return r.fail(code, "there is no such image or tag. Look at its name; %s", r.login())
	case sdk.Unauthorized:
		return r.fail(code, "access is refused (%d: %s). %s", answer.StatusCode, said, r.login())
	default:
		return r.fail(code, "%s answered %d: %s", r.ref.Registry, answer.StatusCode, said)
	}
}

func (r remoteImage) login() string {
	return fmt.Sprintf("a private one needs `docker login %s` (or podman login --compat-auth-file ~/.docker/config.json)", r.ref.Registry)
}

func (r remoteImage) fail(code sdk.Code, format string, args ...any) *sdk.Error {
	return sdk.Errorf(code, "the image %s: %s", r.asked, fmt.Sprintf(format, args...))
}

var query = lazyregexp.New(`\?[^\s"]*`)

// plain is an error's text without the queries of addresses, which may be credentials.
func plain(err error) string {
	return httpretry.Printable(query().ReplaceAllString(err.Error(), ""))
}
