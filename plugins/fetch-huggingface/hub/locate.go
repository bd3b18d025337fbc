package hub

import (
	"context"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Locate implements [sdk.Fetcher]. A file of an open repository is where everybody finds
// it. Of others, a large file has a signed address, and a small one comes with its content:
// the program that downloads has no token.
func (f *Fetcher) Locate(ctx context.Context, file sdk.FileRef) (sdk.Location, error) {
	r, err := parse(file.Name)
	if err != nil {
		return sdk.Location{}, err
	}
	if !isCommit(file.Revision) || !fs.ValidPath(file.Path) || file.Path == "." {
		return sdk.Location{}, sdk.Errorf(sdk.Invalid, "%.100q at %.100q has no file %.100q", file.Name, file.Revision, file.Path)
	}
	path := r.resolve(file.Revision, file.Path)
	f.mu.Lock()
	open := f.open[r.name()]
	hashes, listed := f.xet[r.name()+"@"+file.Revision]
	hash := hashes[file.Path]
	f.mu.Unlock()
	if open && (listed || f.noXet) {
		return sdk.Location{URL: f.api.URL + path, Xet: f.storage(r, file.Revision, hash)}, nil
	}
	doing := "locating " + file.Path + " of " + r.name()
	a, err := f.get(ctx, doing, path)
	if err != nil {
		return sdk.Location{}, err
	}
	switch {
	case a.Status/100 == 3:
		at, err := signed(doing, f.api.URL+path, a)
		at.Xet = f.storage(r, file.Revision, a.Get("X-Xet-Hash"))
		return at, err
	case a.Status == 200:
		return sdk.Location{Content: a.Body}, nil
	}
	return sdk.Location{}, f.problem(doing, r, file.Revision, a)
}

// storage is where the Hub's Xet storage has a file of that hash.
func (f *Fetcher) storage(r repo, commit, hash string) sdk.Xet {
	if f.noXet || hash == "" {
		return sdk.Xet{}
	}
	return sdk.Xet{Hash: hash, TokenURL: f.api.URL + r.api("xet-read-token", commit)}
}

// signed is the location on another host, to which the Hub redirects.
func signed(doing, from string, a answer) (sdk.Location, error) {
	at, err := url.Parse(from)
	if err == nil {
		at, err = at.Parse(a.Get("Location"))
	}
	if err != nil || at.Host == "" {
		return sdk.Location{}, sdk.Errorf(sdk.Internal, "%s: the Hub redirects to an address that cannot be read", doing)
	}
	return sdk.Location{URL: at.String(), ExpiresSeconds: expires(at.Query(), time.Now())}, nil
}

// expires is for how many seconds a signature counts, as the parameters of the usual stores
// tell it; 0 = they do not.
func expires(query url.Values, now time.Time) int64 {
	if until, err := strconv.ParseInt(query.Get("Expires"), 10, 64); err == nil {
		return max(until-now.Unix(), 1)
	}
	for _, name := range []string{"X-Amz-Expires", "X-Goog-Expires"} {
		if seconds, err := strconv.ParseInt(strings.TrimSpace(query.Get(name)), 10, 64); err == nil && seconds > 0 {
			return seconds
		}
	}
	return 0
}
