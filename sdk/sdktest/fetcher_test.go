package sdktest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// hub is a small source of models.
func hub(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/models/tiny" || r.URL.Query().Get("rev") != "" && r.URL.Query().Get("rev") != "c0ffee" {
		http.Error(w, `{"error":"no such model"}`, http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"commit": "c0ffee", "files": []map[string]any{
		{"path": "weights.bin", "size": 12, "sha256": strings.Repeat("ab", 32)}, {"path": "config.json", "size": 2}, {"path": "sub/x.txt", "size": 0}}})
}

// source is a fetcher for [hub], with places where a mutant goes wrong.
type source struct{ sample }

func newSource(f flaws, c *http.Client) *source { return &source{sample{flaws: f, http: c}} }

func plain(name string) bool {
	return name != "" && len(name) < 200 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
}

func (s *source) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	if !plain(ref.Name) {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.Invalid, "hub: %q is not the name of a model", ref.Name)
	}
	var answer struct {
		Commit string
		Files  []sdk.ModelFile
	}
	rev := ref.Revision
	if s.has("ignores revisions") {
		rev = ""
	}
	if err := s.do(ctx, "GET", "/models/"+ref.Name+"?rev="+url.QueryEscape(rev), nil, &answer); err != nil {
		if s.has("unknown is internal") && sdk.CodeOf(err) == sdk.NotFound {
			return sdk.ResolvedModel{}, sdk.Errorf(sdk.Internal, "hub: %v", err)
		}
		return sdk.ResolvedModel{}, err
	}
	if answer.Commit == "" {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.Internal, "hub: the answer has no commit")
	}
	m := sdk.ResolvedModel{Name: ref.Name, Revision: answer.Commit}
	if s.has("does not pin") {
		m.Revision = ""
	}
	for _, f := range answer.Files {
		in := len(ref.Include) == 0 || s.any(ref.Include, f.Path)
		if in && (!s.any(ref.Exclude, f.Path) || s.has("ignores exclude")) {
			if s.has("climbs") {
				f.Path = "../" + f.Path
			}
			if s.has("bad digests") {
				f.SHA256 = strings.ToUpper(f.SHA256)
			}
			m.Files = append(m.Files, f)
		}
	}
	if !s.has("unsorted files") {
		slices.SortFunc(m.Files, func(a, b sdk.ModelFile) int { return cmp.Compare(a.Path, b.Path) })
	}
	return m, nil
}

func (s *source) any(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil })
}

func (s *source) Locate(_ context.Context, f sdk.FileRef) (sdk.Location, error) {
	if strings.Contains(f.Path, "..") || strings.ContainsAny(f.Path, "\x00") || f.Path == "" || f.Path == "." || strings.HasPrefix(f.Path, "/") {
		if !s.has("locates anything") {
			return sdk.Location{}, sdk.Errorf(sdk.Invalid, "hub: %q is not a file of a model", f.Path)
		}
	}
	at := sdk.Location{URL: base + "/raw/" + f.Name + "/" + f.Path, Headers: map[string]string{"Authorization": "Bearer located-secret"}}
	switch {
	case s.has("plain http"):
		at.URL = "http" + strings.TrimPrefix(at.URL, "https")
	case s.has("files of the computer"):
		at.URL = "file:///etc/passwd"
	case s.has("shows its headers") && strings.HasPrefix(f.Path, "no-such"):
		return sdk.Location{}, sdk.Errorf(sdk.NotFound, "hub: not found with %v", at.Headers)
	}
	return at, nil
}

func fetcherKit(f flaws) sdktest.FetcherKit {
	return sdktest.FetcherKit{
		Open:  func(c *http.Client) sdk.Fetcher { return newSource(f, c) },
		Cloud: http.HandlerFunc(hub), Model: sdk.ModelRef{Source: "hub", Name: "tiny"},
	}
}

func TestAGoodFetcherPasses(t *testing.T) { sdktest.Fetcher(t, fetcherKit(nil)) }

func TestEveryMutantOfAFetcherIsCaught(t *testing.T) {
	for flaw, want := range map[string][]string{
		"does not pin": {"resolve/pins"}, "ignores revisions": {"resolve/unknown"}, "unsorted files": {"resolve/sorted"}, "climbs": {"resolve/files", "locate/every-file", "resolve/patterns"},
		"bad digests": {"resolve/files"}, "ignores exclude": {"resolve/patterns"}, "unknown is internal": {"resolve/unknown"},
		"locates anything": {"locate/unknown"}, "plain http": {"locate/every-file", "locate/unknown"}, "files of the computer": {"locate/every-file", "locate/unknown"},
		"shows its headers": {"end/no-secret-shown"}, "429 is internal": {"hostile/retry-after-*", "hostile/status-429"},
		"strict answers": {"hostile/unknown-fields"},
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			catch(t, func(time.Duration) []sdktest.Check { return sdktest.FetcherChecks(fetcherKit(flaws{flaw: true})) }, want)
		})
	}
}
