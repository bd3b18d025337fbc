package fetch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/sdk"
)

// Models of the Hub go into the cache of the Hub's clients; those of others, and what has no
// commit or no hashes, do not.
func TestHubCache(t *testing.T) {
	commit := strings.Repeat("c", 40)
	for name, tc := range map[string]struct {
		source string
		change func(*fake)
		stored bool
	}{
		"hub":       {"hub", func(*fake) {}, true},
		"another":   {"acme", func(*fake) {}, false},
		"no commit": {"hub", func(f *fake) { f.revision = "r1" }, false},
		"no hash":   {"hub", func(f *fake) { f.files[0].GitSHA1 = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := model(serve(t, good))
			f.revision = commit
			tc.change(f)
			o := fetch.Options{CacheDir: t.TempDir(), HubCache: t.TempDir()}
			var last, all int64
			o.Progress = func(p fetch.Progress) { last, all = p.Done, p.Total }
			m, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: tc.source, Name: "org/tiny"}, o)
			wantComplete(t, m, err)
			if last != all || all == 0 {
				t.Errorf("progress ended at %d of %d", last, all)
			}
			link := filepath.Join(o.HubCache, "models--org--tiny", "snapshots", commit, "sub", "tokens.txt")
			if _, err := os.Stat(link); (err == nil) != tc.stored {
				t.Errorf("in the Hub's cache: %v", err)
			}
			if _, err := os.Stat(filepath.Join(o.CacheDir, tc.source, "org%2Ftiny", f.revision)); err != nil {
				t.Error(err)
			}
		})
	}
	f := model("")
	f.revision = commit
	if _, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: "hub", Name: "org/tiny"}, fetch.Options{HubCache: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "CacheDir") {
		t.Error(err)
	}
}
