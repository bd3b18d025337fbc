package fetch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/sdk"
)

// asked counts the questions to a fetcher, which may fail.
type asked struct {
	*fake
	refs []sdk.ModelRef
	err  error
}

func (a *asked) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	a.refs = append(a.refs, ref)
	if a.err != nil {
		return sdk.ResolvedModel{}, a.err
	}
	m, err := a.fake.Resolve(ctx, ref)
	if ref.Have == m.Revision {
		m.Files, m.License = nil, "new"
	}
	return m, err
}

// A model that is on this computer is asked for as little as possible.
func TestKnownModels(t *testing.T) {
	for _, source := range []string{"hub", "acme"} {
		t.Run(source, func(t *testing.T) {
			first, second := strings.Repeat("a", 40), strings.Repeat("b", 40)
			f := &asked{fake: model(serve(t, good))}
			f.revision = first
			o := fetch.Options{CacheDir: t.TempDir(), HubCache: t.TempDir()}
			var unreachable []string
			o.Unreachable = func(revision string, why error) { unreachable = append(unreachable, revision+" "+why.Error()) }
			get := func(revision, want string, questions int) fetch.Model {
				t.Helper()
				f.refs = nil
				m, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: source, Name: "org/tiny", Revision: revision}, o)
				wantComplete(t, m, err)
				if m.Revision != want || len(f.refs) != questions {
					t.Errorf("%q is %s, after the questions %+v", revision, m.Revision, f.refs)
				}
				return m
			}
			get("", first, 1)
			if m := get("", first, 1); f.refs[0].Have != first || m.License != "new" || m.Name != "org/tiny" {
				t.Errorf("%+v, %+v", f.refs, m)
			}
			get(first, first, 0)
			f.revision = second
			get("", second, 1)
			get(first, first, 0)
			get("", second, 1)

			f.err = sdk.Errorf(sdk.Unavailable, "the source is away")
			get("", second, 1)
			if want := []string{second + " the source is away"}; !slices.Equal(unreachable, want) {
				t.Errorf("told: %v", unreachable)
			}
			f.err = sdk.Errorf(sdk.Unauthorized, "no")
			if _, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: source, Name: "org/tiny"}, o); sdk.CodeOf(err) != sdk.Unauthorized {
				t.Errorf("refused: %v", err)
			}
			o.Offline = "no network today"
			get("", second, 0)

			m := get("", second, 0)
			if err := os.Remove(filepath.Join(m.Dir, "empty")); err != nil {
				t.Fatal(err)
			}
			_, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: source, Name: "org/tiny"}, o)
			if sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "no network today") || len(f.refs) != 0 {
				t.Errorf("a file is missing: %v, %+v", err, f.refs)
			}
			f.err, o.Offline = nil, ""
			get("", second, 1)
			spoil(t, o.CacheDir)
			get("", second, 1)
			get(second, second, 0)
		})
	}
}

// spoil damages what is remembered.
func spoil(t *testing.T, cache string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(cache, ".resolved"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.WriteFile(path, []byte(`{"revision":"../..","model":{"files":[{"path":"../x"}]}}`), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// gated is a fetcher that restricts access, and counts questions for files.
type gated struct {
	asked
	gate    string
	located []string
	refused error
}

func (g *gated) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	m, err := g.asked.Resolve(ctx, ref)
	m.Gate = g.gate
	return m, err
}

func (g *gated) Locate(ctx context.Context, r sdk.FileRef) (sdk.Location, error) {
	g.located = append(g.located, r.Path)
	if g.refused != nil {
		return sdk.Location{}, g.refused
	}
	return g.fake.Locate(ctx, r)
}

// A model that was found before is asked for once: whether it is still the same. A file is
// located only where nothing else says that it can be had, and then one with an address.
func TestFindAgain(t *testing.T) {
	digested := func(f *gated) (path string) { // a file after the first, as the large ones of the Hub
		last := &f.files[len(f.files)-1]
		last.SHA256, last.GitSHA1 = strings.Repeat("d", 64), ""
		return last.Path
	}
	for name, tc := range map[string]struct {
		gate          string
		stored        bool
		first, second int // files located
		have          bool
	}{
		"open":              {first: 1, have: true},
		"open, large":       {stored: true, first: 1, have: true},
		"gated":             {gate: "manual", stored: true, second: 1, have: true},
		"gated, only small": {gate: "manual"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &gated{asked: asked{fake: model("https://files.example")}, gate: tc.gate}
			f.revision = strings.Repeat("a", 40)
			for i := range f.files {
				f.files[i].SHA256 = ""
			}
			want := f.files[0].Path
			if tc.stored {
				want = digested(f)
			}
			o := fetch.Options{CacheDir: t.TempDir()}
			find := func(located int) error {
				t.Helper()
				f.refs, f.located = nil, nil
				r, err := o.Find(t.Context(), f, sdk.ModelRef{Source: "hub", Name: "org/tiny"})
				if err == nil && (len(r.Files) != len(f.files) || r.Revision != f.revision) {
					t.Errorf("found %+v", r.Model)
				}
				if len(f.located) != located || located > 0 && f.located[0] != want {
					t.Errorf("located %v, want %d times %s", f.located, located, want)
				}
				return err
			}
			if err := find(tc.first); err != nil {
				t.Fatal(err)
			}
			if err := find(tc.second); err != nil {
				t.Fatal(err)
			}
			if last := f.refs[len(f.refs)-1]; (last.Have == f.revision) != tc.have {
				t.Errorf("asked %+v", f.refs)
			}
			f.revision = strings.Repeat("b", 40)
			if err := find(tc.first); err != nil {
				t.Fatal(err)
			}
			f.refused = sdk.Errorf(sdk.Unauthorized, "ask for access")
			if err := find(tc.second); (err != nil) != (tc.second > 0) {
				t.Errorf("refused: %v", err)
			}
		})
	}
}
