package hub_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/plugins/fetch-huggingface/hub"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

const token = "hf_readerreaderreaderreaderreader0"

// withToken adds a token to requests, as the host does, and follows no redirect.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(w))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func git(text string) fakehub.File { return fakehub.File{Content: fakehub.Text(text)} }

func lfs(text string) fakehub.File {
	return fakehub.File{Content: fakehub.Text(text), Kind: fakehub.LFS}
}

func files() map[string]fakehub.File {
	return map[string]fakehub.File{
		"config.json": git("{}"), "empty.txt": git(""), "sub/deep/ä #1.txt": git("ä"), "README.md": git("# card"), "picture.png": git("png"),
		"model.safetensors": lfs("weights"), "pytorch_model.bin": lfs("the same weights"), "original/consolidated.00.pth": lfs("and again"),
	}
}

func start(t *testing.T, o fakehub.Options) *fakehub.Hub {
	t.Helper()
	commits := []fakehub.Commit{{Files: map[string]fakehub.File{"config.json": git("old"), "model.bin": lfs("old")}}, {Files: files()}}
	repo := func(id string, change func(*fakehub.Repo)) fakehub.Repo {
		r := fakehub.Repo{ID: id, Commits: commits, Branches: map[string]int{"a/branch": 0}, Tags: map[string]int{"v1": 0}, Pulls: map[int]int{1: 0}}
		if change != nil {
			change(&r)
		}
		return r
	}
	o.Users = map[string]string{token: "reader", "hf_strangerstrangerstrangerstranger": "stranger"}
	o.Repos = []fakehub.Repo{
		repo("org/open", func(r *fakehub.Repo) { r.Info = map[string]any{"cardData": map[string]any{"license": "apache-2.0"}} }),
		repo("legacy", nil),
		repo("org/gated", func(r *fakehub.Repo) { r.Gated, r.Readers = "manual", []string{"reader"} }),
		repo("org/private", func(r *fakehub.Repo) { r.Private, r.Readers = true, []string{"reader"} }),
		repo("org/disabled", func(r *fakehub.Repo) { r.Disabled = true }),
		repo("org/data", func(r *fakehub.Repo) { r.Type = fakehub.Dataset }),
	}
	h, err := fakehub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func fetcher(h *fakehub.Hub, token string) *hub.Fetcher {
	return hub.New(h.URL(fakehub.API), guesthttp.Over(withToken(token)))
}

func paths(all []sdk.ModelFile) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Path)
	}
	return strings.Join(out, " ")
}

const usual = "README.md config.json empty.txt model.safetensors sub/deep/ä #1.txt"

func TestResolve(t *testing.T) {
	h := start(t, fakehub.Options{PageSize: 2})
	f := fetcher(h, "")
	newest, oldest := h.Commit("org/open", "main"), h.Commit("org/open", "v1")
	for _, test := range []struct {
		ref     sdk.ModelRef
		commit  string
		files   string
		omitted string
	}{
		{sdk.ModelRef{Name: "org/open"}, newest, usual, "original/consolidated.00.pth picture.png pytorch_model.bin"},
		{sdk.ModelRef{Name: "org/open", Revision: "main"}, newest, usual, "original/consolidated.00.pth picture.png pytorch_model.bin"},
		{sdk.ModelRef{Name: "org/open", Revision: newest}, newest, usual, "original/consolidated.00.pth picture.png pytorch_model.bin"},
		{sdk.ModelRef{Name: "org/open", Revision: "v1"}, oldest, "config.json model.bin", ""},
		{sdk.ModelRef{Name: "org/open", Revision: "a/branch"}, oldest, "config.json model.bin", ""},
		{sdk.ModelRef{Name: "org/open", Revision: "refs/pr/1"}, oldest, "config.json model.bin", ""},
		{sdk.ModelRef{Name: "org/open", Include: []string{"*.pth", "*.json"}}, newest, "config.json original/consolidated.00.pth", ""},
		{sdk.ModelRef{Name: "org/open", Include: []string{"*"}, Exclude: []string{"*.p[nt]*", "sub/", "?odel.*", "[!a-z]*"}}, newest, "config.json empty.txt pytorch_model.bin", ""},
		{sdk.ModelRef{Name: "org/open", Exclude: []string{"*.safetensors", "sub/"}}, newest, "README.md config.json empty.txt original/consolidated.00.pth pytorch_model.bin", "picture.png"},
		{sdk.ModelRef{Name: "datasets/org/data"}, h.Commit("datasets/org/data", "main"), paths(everything()), ""},
	} {
		m, err := f.Resolve(t.Context(), test.ref)
		if err != nil || m.Revision != test.commit || paths(m.Files) != test.files || paths(m.Omitted) != test.omitted || m.Name != test.ref.Name {
			t.Errorf("%+v: %+v, %v", test.ref, m, err)
		}
	}
	m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: "org/open"})
	if err != nil || m.License != "apache-2.0" || m.Gate != "" {
		t.Errorf("%+v, %v", m, err)
	}
	sum := sha256.Sum256([]byte("weights"))
	for _, file := range m.Files {
		if large := file.Path == "model.safetensors"; large && (file.SHA256 != hex.EncodeToString(sum[:]) || file.Size != 7 || file.GitSHA1 != "") || !large && len(file.GitSHA1) != 40 {
			t.Errorf("%+v", file)
		}
	}
}

// A commit that the user has needs one question, also of a repository whose files are refused.
func TestResolveOfWhatIsThere(t *testing.T) {
	h := start(t, fakehub.Options{})
	for _, name := range []string{"org/open", "org/gated"} {
		commit := h.Commit(name, "main")
		h.ForgetRequests()
		m, err := fetcher(h, "").Resolve(t.Context(), sdk.ModelRef{Name: name, Have: commit})
		if err != nil || m.Revision != commit || m.Name != name || len(m.Files)+len(m.Omitted) != 0 || len(h.Requests()) != 1 {
			t.Errorf("%s: %+v, %v, %+v", name, m, err, h.Requests())
		}
	}
	m, err := fetcher(h, "").Resolve(t.Context(), sdk.ModelRef{Name: "org/open", Have: h.Commit("org/open", "v1")})
	if err != nil || paths(m.Files) != usual {
		t.Errorf("of another commit: %+v, %v", m, err)
	}
}

func everything() (all []sdk.ModelFile) {
	for path := range files() {
		all = append(all, sdk.ModelFile{Path: path})
	}
	slices.SortFunc(all, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// Each reason why a model cannot be had has its own message.
func TestNoAccess(t *testing.T) {
	h := start(t, fakehub.Options{})
	stranger := "hf_strangerstrangerstrangerstranger"
	for _, test := range []struct {
		name, revision, token string
		code                  sdk.Code
		words                 string
	}{
		{"org/gated", "", "", sdk.Unauthorized, "accept them at " + h.URL(fakehub.API) + "/org/gated, and set HF_TOKEN"},
		{"org/gated", "", stranger, sdk.Unauthorized, "may not read it yet; ask for access at " + h.URL(fakehub.API) + "/org/gated"},
		{"org/private", "", "", sdk.NotFound, "does not exist on the Hub, or is private"},
		{"org/private", "", stranger, sdk.NotFound, "does not exist on the Hub, or the account of HF_TOKEN may not see it"},
		{"org/none", "", "", sdk.NotFound, "does not exist on the Hub, or is private"},
		{"org/none", "", token, sdk.NotFound, "or the account of HF_TOKEN may not see it"},
		{"org/open", "none", "", sdk.NotFound, `org/open has no branch, tag or commit "none"`},
		{"org/open", "refs/pr/9", "", sdk.NotFound, `org/open has no branch, tag or pull request "refs/pr/9"`},
		{"org/gated", "refs/pr/1", "", sdk.Unauthorized, "accept them at"},
		{"org/none", "a/branch", "", sdk.NotFound, "is private"},
		{"org/disabled", "", "", sdk.Unauthorized, "org/disabled is disabled on the Hub"},
		{"org/private", "", "hf_unknownunknownunknownunknown0000", sdk.Unauthorized, "refuses the token in HF_TOKEN"},
		{"../open", "", "", sdk.Invalid, "is not the name of a repository"},
		{"org/open/more", "", "", sdk.Invalid, "is not the name of a repository"},
		{"org/-x", "", "", sdk.Invalid, "is not the name of a repository"},
		{"", "", "", sdk.Invalid, "is not the name of a repository"},
	} {
		_, err := fetcher(h, test.token).Resolve(t.Context(), sdk.ModelRef{Name: test.name, Revision: test.revision})
		if sdk.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s with %q: %v (%s)", test.name, test.token, err, sdk.CodeOf(err))
		}
	}
}

func TestRateLimit(t *testing.T) {
	h := start(t, fakehub.Options{})
	h.Inject(fakehub.Fault{Status: http.StatusTooManyRequests, Reset: 41 * time.Second})
	_, err := fetcher(h, "").Resolve(t.Context(), sdk.ModelRef{Name: "org/open"})
	e, ok := err.(*sdk.Error) //nolint:errorlint // as a plugin returns it
	if !ok || e.Code != sdk.RateLimited || e.Seconds < 41 || e.Seconds > 43 || !strings.Contains(e.Message, "HF_TOKEN") {
		t.Errorf("%+v", err)
	}
}

func TestRenamed(t *testing.T) {
	h := start(t, fakehub.Options{})
	if err := h.Rename("org/open", "other/name"); err != nil {
		t.Fatal(err)
	}
	f := fetcher(h, "")
	m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: "org/open"})
	if err != nil || m.Name != "other/name" || paths(m.Files) != usual {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := content(t, f, m, "model.safetensors"); got != "weights" {
		t.Errorf("%q", got)
	}
}

// content reads a file as the engine does: without a token.
func content(t *testing.T, f *hub.Fetcher, m sdk.ResolvedModel, path string) string {
	t.Helper()
	at, err := f.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: path})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return testplugin.Read(t, at)
}

// Every file can be read without a token, also of repositories that need one.
func TestLocate(t *testing.T) {
	h := start(t, fakehub.Options{URLLife: time.Minute})
	for _, name := range []string{"org/open", "legacy", "org/gated", "org/private", "datasets/org/data"} {
		f := fetcher(h, token)
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: name, Include: []string{"*"}})
		if err != nil {
			t.Fatal(err)
		}
		for path, file := range files() {
			want := make([]byte, file.Content.Size())
			if _, err := file.Content.ReadAt(want, 0); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			if got := content(t, f, m, path); got != string(want) {
				t.Errorf("%s of %s: %q", path, name, got)
			}
		}
		at, err := f.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: "model.safetensors"})
		open := name != "org/gated" && name != "org/private"
		if err != nil || strings.HasPrefix(at.URL, h.URL(fakehub.API)) != open || !open && (at.ExpiresSeconds < 1 || at.ExpiresSeconds > 60) || len(at.Headers) > 0 {
			t.Errorf("%s: %+v, %v", name, at, err)
		}
	}
}

func TestLocateRefuses(t *testing.T) {
	h := start(t, fakehub.Options{})
	commit := h.Commit("org/open", "main")
	for _, ref := range []sdk.FileRef{
		{Name: "org/open", Revision: commit, Path: "../x"}, {Name: "org/open", Revision: commit, Path: "/etc/passwd"},
		{Name: "org/open", Revision: commit, Path: ""}, {Name: "org/open", Revision: "main", Path: "config.json"}, {Name: "..", Revision: commit, Path: "x"},
	} {
		if at, err := fetcher(h, "").Locate(t.Context(), ref); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%+v is at %+v, %v", ref, at, err)
		}
	}
	if _, err := fetcher(h, "").Locate(t.Context(), sdk.FileRef{Name: "org/open", Revision: commit, Path: "none"}); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("a file that does not exist: %v", err)
	}
}
