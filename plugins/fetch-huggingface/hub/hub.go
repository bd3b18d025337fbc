// Package hub finds the files of models and datasets on the Hugging Face Hub.
package hub

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// Fetcher implements [sdk.Fetcher]. It is safe for concurrent use.
type Fetcher struct {
	api guestapi.Client

	noXet bool

	mu   sync.Mutex
	open map[string]bool              // repositories that can be read without a token
	xet  map[string]map[string]string // repository@commit that was listed → path → hash in the Xet storage
}

// New makes a fetcher for the Hub or mirror at endpoint. The sender must return answers
// that redirect.
func New(endpoint string, sender guestapi.Sender) *Fetcher {
	return &Fetcher{
		api: guestapi.Client{
			Name: "the Hub", URL: strings.TrimSuffix(endpoint, "/"), Sender: sender, MaxAnswer: sdk.MaxContent,
		},
		open: map[string]bool{}, xet: map[string]map[string]string{},
	}
}

// DisableXet has all files read from their plain addresses if value is one that the Hub's own
// clients take for yes.
func (f *Fetcher) DisableXet(value string) {
	f.noXet = slices.Contains([]string{"1", "on", "yes", "true"}, strings.ToLower(strings.TrimSpace(value)))
}

const datasets = "datasets/"

// repo is a repository as the Hub's paths name it.
type repo struct {
	kind string // models or datasets
	id   string // org/name, or name alone for a few old ones
}

// parse reads the name of a model, or of a dataset after "datasets/".
func parse(name string) (repo, error) {
	r := repo{"models", name}
	if id, ok := strings.CutPrefix(name, datasets); ok {
		r = repo{"datasets", id}
	}
	org, rest, two := strings.Cut(r.id, "/")
	if !validPart(org) || two && !validPart(rest) {
		return r, sdk.Errorf(sdk.Invalid, "%.100q is not the name of a repository of the Hub, such as org/name", name)
	}
	return r, nil
}

// validPart reports whether a word can be an organization or a name on the Hub.
func validPart(word string) bool {
	ok := word != "" && len(word) <= 96 && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, ".") &&
		!strings.HasSuffix(word, "-") && !strings.HasSuffix(word, ".") && !strings.Contains(word, "..") && !strings.Contains(word, "--")
	return ok && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// name is how an experiment names the repository.
func (r repo) name() string {
	if r.kind == "datasets" {
		return datasets + r.id
	}
	return r.id
}

// api is the path of the repository's API.
func (r repo) api(rest ...string) string {
	return "/api/" + r.kind + "/" + r.id + joined(rest)
}

// resolve is the path of a file. Every part of the file's path is escaped by itself.
func (r repo) resolve(revision, file string) string {
	parts := strings.Split(file, "/")
	return "/" + r.name() + joined(append([]string{"resolve", revision}, parts...))
}

// joined escapes each part, a revision with its slashes, too.
func joined(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// maxRedirects bounds how often the Hub may send on within itself: after a repository was
// renamed, and to its own cache.
const maxRedirects = 5

// answer is what the Hub has answered.
type answer struct {
	guestapi.Answer
	redirected bool // within the API
}

// get asks the Hub, and follows redirects within its API. An answer that redirects elsewhere,
// such as to another host, or to where a mirror keeps large files, is returned as it is.
func (f *Fetcher) get(ctx context.Context, doing, path string) (answer, error) {
	r := guestapi.Request{Doing: doing, Method: "GET", Path: path}
	for n := range maxRedirects {
		a, err := f.api.Send(ctx, r)
		if err != nil || a.Status/100 != 3 {
			return answer{a, n > 0}, err
		}
		next, ok := f.within(r.Path, a.Get("Location"))
		if !ok || !ofAPI(next) {
			return answer{a, n > 0}, nil
		}
		r.Path = next
	}
	return answer{}, sdk.Errorf(sdk.Internal, "%s: the Hub redirects more than %d times", doing, maxRedirects)
}

// ofAPI reports whether the plugin may ask a path: the patterns are those of its manifest.
func ofAPI(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for _, begin := range []string{"/api/models/", "/api/datasets/", "/api/resolve-cache/"} {
		if strings.HasPrefix(path, begin) {
			return true
		}
	}
	return !strings.HasPrefix(path, "/api/") && strings.Contains(path, "/resolve/")
}

// within is the path and query of a redirect, if it stays on the Hub's origin.
func (f *Fetcher) within(from, location string) (string, bool) {
	at, err := url.Parse(f.api.URL + from)
	if err != nil || location == "" {
		return "", false
	}
	to, err := at.Parse(location)
	if err != nil || to.Scheme != at.Scheme || to.Host != at.Host {
		return "", false
	}
	to.Scheme, to.Host, to.User, to.Fragment = "", "", nil, ""
	return to.String(), true
}
