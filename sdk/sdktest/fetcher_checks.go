package sdktest

import (
	"context"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// FetcherChecks lists what a fetcher is tried for, to be run in this order; see [Check].
func FetcherChecks(k FetcherKit) []Check {
	s := newSource(k)
	checks := []Check{
		{Name: "resolve/pins", run: s.pins, Doc: "Resolve pins a model to one immutable revision: asked for that revision, it gives the same files; of one that the user has, these or none."},
		{Name: "resolve/sorted", run: s.sorted, Doc: "The files are sorted by path, each once."},
		{Name: "resolve/files", run: s.files, Doc: "Paths are slash-separated, relative and without ..; sizes are not negative, digests are hex of their length."},
		{Name: "resolve/patterns", run: s.patterns, Doc: "Include and exclude are glob patterns; an empty include means all."},
		{Name: "resolve/unknown", run: s.unknown, Doc: "A model or revision that does not exist is not_found."},
		{Name: "locate/every-file", run: s.locateAll, Doc: "Locate says where each file is: https://, http:// where the user has configured it, or file: inside the folder that the user named."},
		{Name: "locate/unknown", run: s.locateUnknown, Doc: "A file that does not exist is an error, or a location inside of what the user named."},
		{Name: "cancel/returns", run: s.cancelReturns, Doc: "A cancelled context ends a call early."},
	}
	for _, st := range storms() {
		checks = append(checks, Check{Name: "hostile/" + st.name, Doc: st.doc + ".", run: func(ctx context.Context, t *trial) { s.weather(ctx, t, st) }})
	}
	for i, c := range checks {
		var needs []need
		if c.Name != "resolve/pins" {
			needs = []need{needModel}
		}
		checks[i].run = s.lab.inTurn(c, needs)
	}
	return append(checks,
		Check{Name: "end/no-stray-request", run: s.lab.endStray, always: true, Doc: "A request goes where the user allowed it; a redirect to elsewhere is not followed."},
		Check{Name: "end/errors-one-line", run: s.lab.endTidy, always: true, Doc: "A message is one sentence for a person."},
		Check{Name: "end/no-secret-shown", run: s.endSecrets, always: true, Doc: "A credential appears in no result, error or log; headers of a location appear in no error."},
	)
}

// source is one run of a fetcher's kit.
type source struct {
	kit FetcherKit
	lab *lab

	headers []string // values in locations, which are credentials
}

func newSource(k FetcherKit) *source {
	l := newLab(ProviderKit{Cloud: k.Cloud, World: k.World, Headers: k.Headers, Secrets: k.Secrets, CallTime: k.CallTime, Quick: k.Quick})
	if k.Unknown == "" {
		k.Unknown = k.Model.Name + "-seer-no-such-model"
	}
	return &source{kit: k, lab: l}
}

func (s *source) resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	f := s.kit.Open(s.lab.world.Client(s.lab.kit.Headers))
	return call(ctx, s.lab.guard, "Resolve", func(ctx context.Context) (sdk.ResolvedModel, error) { return f.Resolve(ctx, ref) })
}

func (s *source) locate(ctx context.Context, ref sdk.FileRef) (sdk.Location, error) {
	f := s.kit.Open(s.lab.world.Client(s.lab.kit.Headers))
	// Headers of a location are credentials by right, and not looked through.
	type place struct {
		URL string
		at  sdk.Location
	}
	p, err := call(ctx, s.lab.guard, "Locate", func(ctx context.Context) (place, error) {
		at, err := f.Locate(ctx, ref)
		return place{at.URL, at}, err
	})
	if err != nil {
		return sdk.Location{}, err
	}
	for _, v := range p.at.Headers {
		s.headers = append(s.headers, credentials([]string{v})...)
	}
	return p.at, nil
}

func (s *source) model(ctx context.Context, t *trial) (sdk.ResolvedModel, bool) {
	m, err := s.resolve(ctx, s.kit.Model)
	if err != nil {
		t.failf("Resolve of the kit's Model: %s", describe(err))
	} else if len(m.Files) < 2 {
		t.failf("the kit's Model has %s; take one with at least 2", number(len(m.Files), "file"))
	}
	return m, err == nil && len(m.Files) >= 2
}

func (s *source) pins(ctx context.Context, t *trial) {
	m, ok := s.model(ctx, t)
	if !ok {
		t.lack(needModel)
		return
	}
	if m.Name == "" || m.Revision == "" {
		t.failf("the name is %q and the revision %q; both are wanted: without a revision nothing can be repeated", m.Name, m.Revision)
	}
	again, err := s.resolve(ctx, s.kit.Model)
	if t.try("Resolve again", err) && !same(m, again) {
		t.failf("Resolve gives something else the second time: %s, then %s", shorten(jsonOf(m)), shorten(jsonOf(again)))
	}
	ref := s.kit.Model
	ref.Revision = m.Revision
	pinned, err := s.resolve(ctx, ref)
	if err != nil {
		t.failf("Resolve of the revision %q that it gave itself: %s", m.Revision, describe(err))
	} else if !same(m.Files, pinned.Files) || pinned.Revision != m.Revision {
		t.failf("Resolve of the revision %q gives the revision %q, or other files", m.Revision, pinned.Revision)
	}
	ref = s.kit.Model
	ref.Have = m.Revision
	had, err := s.resolve(ctx, ref)
	if t.try("Resolve of a model that the user has", err) && (had.Revision != m.Revision || len(had.Files) > 0 && !same(m.Files, had.Files)) {
		t.failf("Resolve of a model whose revision %q the user has gives the revision %q, or other files", m.Revision, had.Revision)
	}
}

func (s *source) sorted(ctx context.Context, t *trial) {
	m, ok := s.model(ctx, t)
	for i := 1; ok && i < len(m.Files); i++ {
		if a, b := m.Files[i-1].Path, m.Files[i].Path; a >= b {
			t.failf("%q comes before %q; sort by path, each once", a, b)
		}
	}
}

func (s *source) files(ctx context.Context, t *trial) {
	m, _ := s.model(ctx, t)
	for _, f := range m.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsAny(f.Path, "\\\x00") {
			t.failf("the path %q is not slash-separated, relative and without ..: files would be written elsewhere", f.Path)
		}
		if f.Size < 0 {
			t.failf("%s has the size %d", f.Path, f.Size)
		}
		for name, d := range map[string]struct {
			text string
			size int
		}{"sha256": {f.SHA256, 32}, "git_sha1": {f.GitSHA1, 20}} {
			raw, err := hex.DecodeString(d.text)
			if d.text != "" && (err != nil || len(raw) != d.size || strings.ToLower(d.text) != d.text) {
				t.failf("%s has the %s %q, which is not %d small hex digits", f.Path, name, d.text, 2*d.size)
			}
		}
	}
}

func (s *source) patterns(ctx context.Context, t *trial) {
	m, ok := s.model(ctx, t)
	if !ok {
		return
	}
	one := m.Files[0].Path
	names := func(change func(*sdk.ModelRef)) []string {
		ref := s.kit.Model
		change(&ref)
		got, err := s.resolve(ctx, ref)
		if err != nil {
			t.failf("Resolve with include %q and exclude %q: %s", ref.Include, ref.Exclude, describe(err))
		}
		var paths []string
		for _, f := range got.Files {
			paths = append(paths, f.Path)
		}
		return paths
	}
	exact := globQuote(one)
	base := path.Base(one)
	if got := names(func(r *sdk.ModelRef) { r.Include = []string{exact} }); !slices.Contains(got, one) || slices.ContainsFunc(got, func(p string) bool { return path.Base(p) != base }) {
		t.failf("include %q gave %q", exact, got)
	}
	if got := names(func(r *sdk.ModelRef) { r.Exclude = []string{exact} }); slices.Contains(got, one) || len(got) == 0 {
		t.failf("exclude %q gave %q", exact, got)
	}
	none := s.kit.Model
	none.Include = []string{"no-such-file-*.seer"}
	if got, err := s.resolve(ctx, none); isDefect(err) || len(got.Files) > 0 {
		t.failf("an include that fits nothing gave %s: %s", number(len(got.Files), "file"), describe(err))
	}
}

// globQuote is a pattern for one path.
func globQuote(p string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(p)
}

func (s *source) unknown(ctx context.Context, t *trial) {
	name, revision := s.kit.Model, s.kit.Model
	name.Name, revision.Revision = s.kit.Unknown, "seer-no-such-revision"
	for _, ref := range []sdk.ModelRef{name, revision} {
		if _, err := s.resolve(ctx, ref); sdk.CodeOf(err) != sdk.NotFound {
			t.failf("Resolve of %q at revision %q: %s; not_found was expected", ref.Name, ref.Revision, describe(err))
		}
	}
	for _, odd := range []string{"", "../" + s.kit.Model.Name, "a\nb", strings.Repeat("x", 1000), "%2e%2e/x", "é?#"} {
		ref := s.kit.Model
		ref.Name = odd
		if _, err := s.resolve(ctx, ref); err == nil || isDefect(err) || passing(err) {
			t.failf("Resolve of the name %s: %s; an error was expected that is no reason to ask again", shorten(odd), describe(err))
		}
	}
}

// weather lets both methods meet a fault.

// FetcherKit says how to try a model fetcher.
type FetcherKit struct {
	// Open makes a fetcher that reaches its source through c; see [ProviderKit].
	Open func(c *http.Client) sdk.Fetcher

	Cloud http.Handler // the simulator; nil where World has one, or the fetcher needs no network
	World *World       // instead of Cloud

	Headers http.Header // as in [ProviderKit]
	Secrets []string    // as in [ProviderKit]

	Model   sdk.ModelRef // one that exists, with at least two files
	Unknown string       // a name that does not exist; default: Model's and "-seer-no-such-model"
	Folder  string       // the folder inside which file: locations may be; empty = none may be given
	// AllowHTTP says that locations may be http://, for a source of the user's own.
	AllowHTTP bool

	CallTime time.Duration // how long a call may take; default 30 s, as Seer's
	Quick    bool          // leaves out faults that cost time (slow, huge)
}

// Fetcher tries a fetcher in a test of its own for each check.
func Fetcher(t *testing.T, k FetcherKit) {
	t.Helper()
	test(t, FetcherChecks(k))
}
