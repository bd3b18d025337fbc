package acceptance

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// seen lists the files of the cache that a program could take for the model.
const seen = `find "$FOLDER" '(' -path '*/snapshots/*' -o -path '*/models/hub/*' ')' '(' -type f -o -type l ')' ! -name '*.lock' | sed 's/^/seen /'; `

// TestModelsOnBadDisks has the Hub's cache on a disk that is full from the beginning or during
// the download, and on one that cannot be written.
func TestModelsOnBadDisks(t *testing.T) {
	t.Parallel()
	// Tests share the cache of the program, so each has a model of its own.
	place := func(t *testing.T, seed uint64) (p *place, h *fakehub.Hub, cache, weights string) {
		t.Helper()
		content := fakehub.Random(cloudWeights, seed)
		h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{{ID: "org/open", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"config.json": {Content: fakehub.Text("{}")}, "model.safetensors": {Content: content, Kind: fakehub.LFS},
		}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		p = newPlace(t)
		maps.Copy(p.env, h.Env())
		cache = p.path("disk")
		p.env["HF_HOME"] = filepath.Join(cache, "hf home")
		return p, h, cache, sumOf(content)
	}
	const sum = `sha256sum "$dir"/model.safetensors; `
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		p, _, cache, _ := place(t, 11)
		r := p.small(cache, "20m", `"$SEER" models pull org/open; code=$?; `+seen+`exit $code`)
		p.check(r, 14, "download needs", "where", "are free; free some space")
		wantUnseen(t, r)
	})
	t.Run("full in the middle", func(t *testing.T) {
		t.Parallel()
		p, h, cache, weights := place(t, 12)
		stalled := make(chan struct{})
		h.Inject(fakehub.Fault{Call: fakehub.Blob, Times: 1, After: 1 << 20, Stall: stalled, Do: func() { p.write("asked", "") }})
		go func() {
			defer close(stalled)
			for !p.has("filled") && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
		r := p.small(cache, "30m", `{ "$SEER" models pull org/open & until [ -e asked ]; do sleep 0.05; done; dd if=/dev/zero of="$FOLDER/fill" bs=1M count=29 2>/dev/null; `+
			`touch filled; wait $!; code=$?; `+seen+`rm "$FOLDER/fill"; dir=$("$SEER" models pull org/open) && `+sum+`exit $code; }`)
		p.check(r, 14, "space", weights)
		wantUnseen(t, r)
	})
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		p, _, cache, weights := place(t, 13)
		r := p.small(cache, "60m", `mkdir -p "$HF_HOME/hub" && mount -o remount,ro "$FOLDER" && dir=$("$SEER" models pull org/open) && `+sum+`find "$FOLDER" -type f`)
		p.check(r, 0, weights, "cannot be written")
		if strings.Contains(r.out, cache) {
			t.Errorf("a file on a disk that cannot be written: %s", r.out)
		}
	})
}

func wantUnseen(t *testing.T, r result) {
	t.Helper()
	if strings.Contains(r.out, "seen ") || strings.Count("\n"+r.err, "\nseer: ") != 1 {
		t.Errorf("a file of the model is seen, or there is no single error:\n%s%s", r.out, r.err)
	}
}
