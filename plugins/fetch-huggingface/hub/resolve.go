package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// maxFiles bounds the files of a repository.
const maxFiles = 100_000

// info is what the Hub says about a revision.
type info struct {
	ID       string `json:"id"`
	SHA      string `json:"sha"`
	Private  bool   `json:"private"`
	Gated    any    `json:"gated"` // false, "auto" or "manual"
	Disabled bool   `json:"disabled"`
	CardData struct {
		License     any    `json:"license"` // a word, or a list of words
		LicenseName string `json:"license_name"`
	} `json:"cardData"`

	probe sdk.Probe
}

// open reports whether anybody can read the files.
func (i info) open() bool { return !i.Private && i.gate() == "" }

// gate is how access is restricted; empty = it is not.
func (i info) gate() string {
	word, _ := i.Gated.(string)
	return word
}

func (i info) license() string {
	switch license := i.CardData.License.(type) {
	case string:
		if license == "other" && i.CardData.LicenseName != "" {
			return i.CardData.LicenseName
		}
		return license
	case []any:
		if len(license) > 0 {
			word, _ := license[0].(string)
			return word
		}
	}
	return ""
}

// Resolve implements [sdk.Fetcher]. It pins the revision to a commit and checks access.
func (f *Fetcher) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	r, err := parse(ref.Name)
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	about, err := f.info(ctx, &r, ref.Revision)
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	found := sdk.ResolvedModel{Name: r.name(), Revision: about.SHA, License: about.license(), Gate: about.gate(), Probe: about.probe}
	if about.open() {
		found.Base = f.api.URL + r.resolve(about.SHA, "")
	}
	if about.SHA == ref.Have {
		f.remember(r, about.open())
		return found, nil
	}
	if err := f.access(ctx, r, about); err != nil {
		return sdk.ResolvedModel{}, err
	}
	all, err := f.tree(ctx, r, about.SHA)
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	found.Files, found.Omitted = choose(all, ref, r.kind)
	if len(found.Files) == 0 {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.Invalid, "no file of %s is left by the include and exclude patterns", r.name())
	}
	return found, nil
}

// info reads what the Hub says about a revision. The repository gets its present name if it
// was renamed.
func (f *Fetcher) info(ctx context.Context, r *repo, revision string) (info, error) {
	doing := "looking up " + r.name()
	plain, err := f.plain(ctx, *r, revision)
	if err != nil {
		return info{}, err
	}
	path := r.api()
	if plain != "" {
		path = r.api("revision", plain)
	}
	// The Hub would also send the names of all files, thousands in some repositories.
	path += "?" + url.Values{"expand": {"sha", "private", "gated", "disabled", "cardData"}}.Encode()
	a, err := f.get(ctx, doing, path)
	if err != nil {
		return info{}, err
	}
	if a.Status != 200 {
		return info{}, f.problem(doing, *r, revision, a)
	}
	var about info
	if err := json.Unmarshal(a.Body, &about); err != nil || !isCommit(about.SHA) {
		return info{}, sdk.Errorf(sdk.Internal, "%s: the Hub answers without a commit", doing)
	}
	if plain == revision && !a.redirected { // else what was asked for may lead elsewhere, and the answer stay
		sum := sha256.Sum256(a.Body)
		about.probe = sdk.Probe{URL: f.api.URL + path, SHA256: hex.EncodeToString(sum[:])}
	}
	if canonical, err := parse(about.ID); err == nil {
		r.id = canonical.id
	}
	if about.Disabled {
		return info{}, sdk.Errorf(sdk.Unauthorized, "%s is disabled on the Hub; see %s/%s", r.name(), f.api.URL, r.name())
	}
	return about, nil
}

// plain is a revision without slashes: the commit of one that has some, such as refs/pr/1. The
// Hub wants them escaped, and Seer lets no plugin send escaped slashes: a pattern of paths would
// not hold there.
func (f *Fetcher) plain(ctx context.Context, r repo, revision string) (string, error) {
	if !strings.Contains(revision, "/") {
		return revision, nil
	}
	doing := "looking up the branches and tags of " + r.name()
	a, err := f.get(ctx, doing, r.api("refs")+"?include_prs=1")
	if err != nil {
		return "", err
	}
	if a.Status != 200 {
		return "", f.problem(doing, r, revision, a)
	}
	type ref struct{ Ref, TargetCommit string }
	var all struct{ Branches, Tags, Converts, PullRequests []ref }
	if err := json.Unmarshal(a.Body, &all); err != nil {
		return "", sdk.Errorf(sdk.Internal, "%s: the Hub answers with something else than a list: %v", doing, err)
	}
	for _, one := range slices.Concat(all.Branches, all.Tags, all.Converts, all.PullRequests) {
		if named := strings.TrimPrefix(strings.TrimPrefix(one.Ref, "refs/heads/"), "refs/tags/"); (one.Ref == revision || named == revision) && isCommit(one.TargetCommit) {
			return one.TargetCommit, nil
		}
	}
	return "", sdk.Errorf(sdk.NotFound, "%s has no branch, tag or pull request %.100q", r.name(), revision)
}

func isCommit(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// access fails if the files of a gated repository cannot be read. Everybody may see what
// such a repository has, so that only its files would be refused, too late.
func (f *Fetcher) access(ctx context.Context, r repo, about info) error {
	if about.gate() == "" {
		f.remember(r, about.open())
		return nil
	}
	doing := "checking the access to " + r.name()
	a, err := f.get(ctx, doing, r.api("auth-check"))
	if err != nil || a.Status/100 == 2 {
		return err
	}
	return f.problem(doing, r, "", a)
}

// remember notes whether a repository can be read without a token.
func (f *Fetcher) remember(r repo, open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[r.name()] = open
}

// entry is one of a repository's tree.
type entry struct {
	Type string `json:"type"` // file or directory
	OID  string `json:"oid"`
	Size int64  `json:"size"`
	Path string `json:"path"`
	Xet  string `json:"xetHash"`
	LFS  *struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// tree lists the files of a commit, from all pages.
func (f *Fetcher) tree(ctx context.Context, r repo, commit string) ([]sdk.ModelFile, error) {
	doing := "listing the files of " + r.name()
	path := r.api("tree", commit) + "?" + url.Values{"recursive": {"true"}, "expand": {"false"}}.Encode()
	var files []sdk.ModelFile
	hashes := map[string]string{}
	for path != "" {
		a, err := f.get(ctx, doing, path)
		if err != nil {
			return nil, err
		}
		if a.Status != 200 {
			return nil, f.problem(doing, r, commit, a)
		}
		var page []entry
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return nil, sdk.Errorf(sdk.Internal, "%s: the Hub answers with something else than a list: %v", doing, err)
		}
		for _, e := range page {
			if e.Type != "file" {
				continue
			}
			if !fs.ValidPath(e.Path) || e.Path == "." {
				return nil, sdk.Errorf(sdk.Invalid, "%s has a file with the path %.100q, which leads out of the repository", r.name(), e.Path)
			}
			files = append(files, e.file())
			if e.Xet != "" && e.LFS != nil {
				hashes[e.Path] = e.Xet
			}
		}
		if len(files) > maxFiles {
			return nil, sdk.Errorf(sdk.Unsupported, "%s has more than %d files; name those that you need in include", r.name(), maxFiles)
		}
		next, more := f.within(path, nextPage(a.Get("Link")))
		if path = next; !more || len(page) == 0 {
			path = ""
		}
	}
	f.mu.Lock()
	f.xet[r.name()+"@"+commit] = hashes
	f.mu.Unlock()
	slices.SortFunc(files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// file has the digest of the content: of a large file its sha256, of others git's.
func (e entry) file() sdk.ModelFile {
	if e.LFS != nil {
		return sdk.ModelFile{Path: e.Path, Size: e.LFS.Size, SHA256: e.LFS.OID}
	}
	return sdk.ModelFile{Path: e.Path, Size: e.Size, GitSHA1: e.OID}
}

// nextPage finds the address in a Link header: <https://…>; rel="next".
func nextPage(link string) string {
	for part := range strings.SplitSeq(link, ",") {
		address, params, ok := strings.Cut(strings.TrimSpace(part), ">")
		if ok && strings.HasPrefix(address, "<") && strings.Contains(params, `rel="next"`) {
			return address[1:]
		}
	}
	return ""
}
