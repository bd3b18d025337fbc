// Package artifact finds the files of models in OCI registries. A model is an artifact whose
// layers are files, named by an annotation: those of ORAS and of ModelPack are known.
package artifact

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// Options say how registries are asked.
type Options struct {
	Sender   guestapi.Sender // must return answers that redirect
	Registry string          // origin for which the host adds a login; empty = none
	Origins  string          // origins that may have no TLS, separated by commas
}

// Fetcher implements [sdk.Fetcher]. It is safe for concurrent use.
type Fetcher struct {
	Options

	mu        sync.Mutex
	tokens    map[string]token    // anonymous ones, by repository
	manifests map[string]manifest // by name with digest
}

// New makes a fetcher.
func New(o Options) *Fetcher {
	return &Fetcher{Options: o, tokens: map[string]token{}, manifests: map[string]manifest{}}
}

// Resolve implements [sdk.Fetcher].
func (f *Fetcher) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	r, m, files, err := f.open(ctx, ref.Name, ref.Revision)
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	found := sdk.ResolvedModel{Name: r.name(), Revision: m.digest, License: m.Annotations["org.opencontainers.image.licenses"]}
	for _, file := range files {
		if ref.Wants(file.Path) {
			found.Files = append(found.Files, file.ModelFile)
		}
	}
	return found, nil
}

// open reads the manifest of a model, and its files.
func (f *Fetcher) open(ctx context.Context, name, revision string) (r reference, m manifest, files []file, err error) {
	if r, err = parse(name, revision); err != nil {
		return r, m, nil, err
	}
	if m, err = f.manifest(ctx, r); err != nil {
		return r, m, nil, err
	}
	files, err = m.files(r)
	return r, m, files, err
}

// Locate implements [sdk.Fetcher]. A registry redirects to a signed address, or sends the
// file itself; then it wants the anonymous token for that.
func (f *Fetcher) Locate(ctx context.Context, wanted sdk.FileRef) (sdk.Location, error) {
	r, _, files, err := f.open(ctx, wanted.Name, wanted.Revision)
	if err != nil {
		return sdk.Location{}, err
	}
	i := slices.IndexFunc(files, func(x file) bool { return x.Path == wanted.Path })
	if i < 0 {
		return sdk.Location{}, sdk.Errorf(sdk.NotFound, "%s has no file %.100q", r, wanted.Path)
	}
	path := "/v2/" + r.repo + "/blobs/" + files[i].digest
	doing := "locating " + wanted.Path + " of " + r.String()
	header, login := guestapi.Header{}, f.hasLogin(r.host)
	if small := files[i].Size <= sdk.MaxContent; !login || !small {
		header["Range"] = []string{"bytes=0-0"} // only where it is, is asked
	}
	a, t, err := f.get(ctx, r, doing, path, header, sdk.MaxContent)
	if err != nil {
		return sdk.Location{}, err
	}
	switch {
	case a.Status/100 == 3:
		return redirected(f.origin(r.host)+path, doing, a)
	case login && a.Status == 200:
		return sdk.Location{Content: a.Body}, nil
	case login && a.Status == 206:
		return sdk.Location{}, sdk.Errorf(sdk.Unsupported, "%s sends large files only with the login, which Seer gives to no download; use a registry that redirects to signed addresses, or one without a login", r.host)
	case a.Status == 200, a.Status == 206, a.Status == 416 && files[i].Size == 0:
		at := sdk.Location{URL: f.origin(r.host) + path}
		if t.text != "" {
			at.Headers = map[string]string{"Authorization": "Bearer " + t.text}
			at.ExpiresSeconds = max(int64(time.Until(t.expires).Seconds()), 1)
		}
		return at, nil
	}
	return sdk.Location{}, f.problem(r, doing, a)
}

func redirected(from, doing string, a guestapi.Answer) (sdk.Location, error) {
	at, err := url.Parse(from)
	if err == nil {
		at, err = at.Parse(a.Get("Location"))
	}
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return sdk.Location{}, sdk.Errorf(sdk.Internal, "%s: the registry redirects to an address that cannot be read", doing)
	}
	return sdk.Location{URL: at.String(), ExpiresSeconds: signedFor}, nil
}

// signedFor is for how many seconds a signed address is used. Those of the usual stores count
// for longer; one that does not is asked for anew when it is refused.
const signedFor = 300
