package fetch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// Choices of files of one revision lie side by side, in the Hub's cache and in the engine's
// own, although this fetcher does not heed patterns.
func TestParts(t *testing.T) {
	for _, source := range []string{"hub", "acme"} {
		t.Run(source, func(t *testing.T) {
			f := model(serve(t, good))
			f.revision = strings.Repeat("c", 40)
			o := fetch.Options{CacheDir: t.TempDir(), HubCache: t.TempDir()}
			get := func(include, exclude []string) fetch.Model {
				t.Helper()
				m, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: source, Name: "org/tiny", Include: include, Exclude: exclude}, o)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			small := get([]string{"*.json", "sub/"}, nil)
			all := get(nil, nil)
			other := get(nil, []string{"*.safetensors"})
			for _, c := range []struct {
				fetch.Model
				want []string
			}{
				{small, []string{"config.json", "sub/tokens.txt"}},
				{all, []string{"config.json", "empty", "model.safetensors", "sub/tokens.txt"}},
				{other, []string{"config.json", "empty", "sub/tokens.txt"}},
			} {
				if got := testkit.Files(t, c.Dir); !slices.Equal(got, c.want) || len(c.Files) != len(c.want) {
					t.Errorf("%s has %v, not %v", c.Dir, got, c.want)
				}
			}
			if again := get([]string{"config.*", "*tokens.txt"}, nil); again.Dir != small.Dir {
				t.Errorf("the same files are in %s and in %s", again.Dir, small.Dir)
			}
			_, err := fetch.Fetch(context.Background(), f, sdk.ModelRef{Source: source, Name: "org/tiny", Include: []string{"*.gguf"}}, o)
			if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "include and exclude patterns") {
				t.Errorf("nothing is left: %v", err)
			}
		})
	}
}

// A folder of the cache that lacks files gets them, and keeps the others where they are: a
// sandbox may be shown it.
func TestIncompleteFolderIsKept(t *testing.T) {
	f := model(serve(t, good))
	cache := t.TempDir()
	m, err := get(t, f, cache)
	wantComplete(t, m, err)
	folder, err := os.Open(m.Dir) // as a mount does
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	kept, err := os.Stat(filepath.Join(m.Dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(m.Dir, "sub")); err != nil {
		t.Fatal(err)
	}
	m, err = get(t, f, cache)
	wantComplete(t, m, err)
	if now, err := os.Stat(filepath.Join(m.Dir, "model.safetensors")); err != nil || !os.SameFile(now, kept) {
		t.Errorf("a file that was there was replaced: %v", err)
	}
	before, err := folder.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(m.Dir); err != nil || !os.SameFile(now, before) {
		t.Errorf("the folder was replaced: %v", err)
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
