package fetch_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/sdk"
)

// based is a fetcher that says where all files are, and how to see that nothing has changed.
type based struct {
	*fake
	base      string
	probe     sdk.Probe
	questions int

	mu      sync.Mutex // files are located side by side
	located []string
}

func (b *based) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	b.questions++
	m, err := b.fake.Resolve(ctx, ref)
	m.Base, m.Probe = b.base, b.probe
	if ref.Have == m.Revision {
		m.Files = nil
	}
	return m, err
}

func (b *based) Locate(ctx context.Context, r sdk.FileRef) (sdk.Location, error) {
	b.mu.Lock()
	b.located = append(b.located, r.Path)
	b.mu.Unlock()
	return b.fake.Locate(ctx, r)
}

// The files of a model that are below one address are read without a question for each.
func TestBase(t *testing.T) {
	at := serve(t, good)
	f := &based{fake: model(at), base: at + "/"}
	f.revision = strings.Repeat("c", 40)
	ref := sdk.ModelRef{Source: "hub", Name: "org/tiny"}
	m, err := fetch.Fetch(context.Background(), f, ref, fetch.Options{CacheDir: t.TempDir(), HubCache: t.TempDir()})
	wantComplete(t, m, err)
	if len(f.located) > 0 {
		t.Errorf("located: %v", f.located)
	}
	remote, err := fetch.Options{CacheDir: t.TempDir()}.Find(context.Background(), f, ref)
	if err != nil {
		t.Fatal(err)
	}
	f.located = nil
	for _, want := range []string{"", "sub/tokens.txt"} { // the first address did not help
		if loc, err := remote.Locate(context.Background(), "sub/tokens.txt"); err != nil || loc.URL != at+"/sub/tokens.txt" || strings.Join(f.located, " ") != want {
			t.Errorf("%+v, %v; located: %v", loc, err, f.located)
		}
	}
	for _, wrong := range []string{at, at + "/?x=/", at + "/#/", "https://[/", "file:///etc/"} {
		f.base = wrong
		if _, err := fetch.Fetch(context.Background(), f, ref, fetch.Options{CacheDir: t.TempDir(), HubCache: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "the fetcher of") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// While a source answers the same, the fetcher of a model that is on this computer is not asked.
func TestProbe(t *testing.T) {
	body := "the first"
	var status int
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status != 0 {
			w.WriteHeader(status)
		}
		_, _ = w.Write([]byte(body))
	}))
	defer source.Close()
	digest := func() sdk.Probe {
		sum := sha256.Sum256([]byte(body))
		return sdk.Probe{URL: source.URL, SHA256: hex.EncodeToString(sum[:])}
	}
	first, second := strings.Repeat("a", 40), strings.Repeat("b", 40)
	f := &based{fake: model(serve(t, good)), probe: digest()}
	var unreachable []string
	o := fetch.Options{CacheDir: t.TempDir(), HubCache: t.TempDir(), Unreachable: func(revision string, why error) {
		unreachable = append(unreachable, revision+": "+why.Error())
	}}
	get := func(what, revision string, questions int) {
		t.Helper()
		f.questions = 0
		m, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: "hub", Name: "org/tiny", Revision: "main"}, o)
		wantComplete(t, m, err)
		if m.Revision != revision || f.questions != questions {
			t.Errorf("%s: %s after %d questions", what, m.Revision, f.questions)
		}
	}
	f.revision = first
	get("the first time", first, 1)
	get("again", first, 0)
	body = "another license"
	f.probe = digest()
	get("another answer", first, 1)
	get("another answer, again", first, 0)
	status = http.StatusTooManyRequests
	get("no answer", first, 1)
	status = 0
	f.revision, body = second, "the second"
	f.probe = digest()
	get("another commit", second, 1)
	get("another commit, again", second, 0)
	if len(unreachable) > 0 {
		t.Errorf("unreachable: %v", unreachable)
	}
	source.Close()
	f.probe = sdk.Probe{}
	get("the fetcher judges a failure", second, 1)
}
