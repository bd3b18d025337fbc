// Package index finds models in plain HTTPS folders. The folder of a model has an
// index.json, and a folder for each revision with its files. Its name has one part or two:
//
//	team/tiny/index.json
//	team/tiny/2026-11-01/config.json
//
//	{"default": "2026-11-01",
//	 "revisions": [{"name": "2026-11-01", "files": [{"path": "config.json", "size": 41, "sha256": "9f86…"}]}]}
package index

import (
	"cmp"
	"context"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

// Fetcher implements [sdk.Fetcher]. In a plugin API.Transport is nil: the host.
type Fetcher struct{ API guesthttp.Client }

// New makes a fetcher for the server at address.
func New(address string) *Fetcher { return &Fetcher{guesthttp.Client{URL: address}} }

// Resolve implements [sdk.Fetcher].
func (f *Fetcher) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	if !plain(ref.Name) {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.Invalid, "%.100q is not the name of a model like index:team/tiny", ref.Name)
	}
	var i struct {
		Default   string
		Revisions []struct {
			Name  string
			Files []sdk.ModelFile
		}
	}
	if err := f.API.Do(ctx, guesthttp.Request{Doing: "reading the index of " + ref.Name, Method: "GET", Path: escaped(ref.Name, "index.json")}, &i); err != nil {
		return sdk.ResolvedModel{}, err
	}
	revision := cmp.Or(ref.Revision, i.Default)
	var known []string
	for _, r := range i.Revisions {
		if r.Name == revision && plain(revision) {
			files, err := wanted(r.Files, ref)
			return sdk.ResolvedModel{Name: ref.Name, Revision: revision, Files: files}, err
		}
		known = append(known, r.Name)
	}
	return sdk.ResolvedModel{}, sdk.Errorf(sdk.NotFound, "the model %.100q has no revision %.100q; it has %.300q", ref.Name, revision, strings.Join(known, ", "))
}

var sum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// wanted are the files that the patterns name: each as the index describes it, with the
// digest by which Seer checks what it gets.
func wanted(all []sdk.ModelFile, ref sdk.ModelRef) (files []sdk.ModelFile, err error) {
	for _, file := range all {
		if !plain(file.Path) || file.Size < 0 || !sum.MatchString(file.SHA256) {
			return nil, sdk.Errorf(sdk.Internal, "the index of %.100q describes %.100q without a plain path, a size and a sha256", ref.Name, file.Path)
		}
		in, err := matches(ref.Include, file.Path)
		out, err2 := matches(ref.Exclude, file.Path)
		if err := cmp.Or(err, err2); err != nil {
			return nil, err
		}
		if (in || len(ref.Include) == 0) && !out {
			files = append(files, sdk.ModelFile{Path: file.Path, Size: file.Size, SHA256: file.SHA256})
		}
	}
	if len(files) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "no file of %.100q is left by the include and exclude patterns", ref.Name)
	}
	slices.SortFunc(files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// matches takes a pattern without a slash for one of the file's own name.
func matches(patterns []string, file string) (bool, error) {
	for _, p := range patterns {
		subject := file
		if !strings.Contains(p, "/") {
			subject = path.Base(file)
		}
		if ok, err := path.Match(p, subject); err != nil {
			return false, sdk.Errorf(sdk.Invalid, "%.100q is not a file pattern (*, ?, [a-z])", p)
		} else if ok || strings.HasSuffix(p, "/") && strings.HasPrefix(file, p) {
			return true, nil
		}
	}
	return false, nil
}

// Locate implements [sdk.Fetcher].
func (f *Fetcher) Locate(_ context.Context, file sdk.FileRef) (sdk.Location, error) {
	if !plain(file.Name) || !plain(file.Revision) || !plain(file.Path) {
		return sdk.Location{}, sdk.Errorf(sdk.Invalid, "%.100q at %.100q has no file %.100q", file.Name, file.Revision, file.Path)
	}
	return sdk.Location{URL: strings.TrimSuffix(f.API.URL, "/") + escaped(file.Name, file.Revision, file.Path)}, nil
}

func plain(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.Contains(name, `\`)
}

func escaped(parts ...string) string {
	return (&url.URL{Path: "/" + path.Join(parts...)}).EscapedPath()
}
