package acceptance

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/state"
)

const (
	killedWeights = 160 << 20
	moverBlock    = 8 << 20 // what a mover may lose of each connection; see engine/transfer
	moverMost     = 16      // connections to a host
)

// TestKilledPull kills seer models pull at random moments, 30 times, or 100 with SEER_SOAK. The
// next one goes on where that was: a kill costs at most a block of each connection. At the end
// the files are right, and nothing else is left. A soak that is broken off goes on where it
// was, with SEER_SOAK_DIR.
func TestKilledPull(t *testing.T) {
	t.Parallel()
	progress := newProgress(t, "models-pull", 30, 100)
	for n := uint64(1); progress.done < progress.wanted && !t.Failed(); n++ {
		killedPulls(t, progress, rand.Uint64())
	}
}

// killedPulls is the download of one model, which is killed until it comes to its end.
func killedPulls(t *testing.T, progress *progress, seed uint64) {
	t.Helper()
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{{ID: "org/killed", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
		"config.json": {Content: fakehub.Text("{}")}, "sub/empty.txt": {},
		"a.safetensors": {Content: fakehub.Random(killedWeights, seed), Kind: fakehub.LFS},
		"b.safetensors": {Content: fakehub.Random(moverBlock/2, seed+1), Kind: fakehub.LFS},
	}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p := newPlace(t)
	maps.Copy(p.env, h.Env())
	p.env["HF_HOME"] = p.path("hf home")
	served := func() int64 { return h.Count(fakehub.CDN).Bytes }
	kills := int64(0)
	for ; progress.done < progress.wanted && killPull(p, served); kills++ {
		progress.add(t)
	}
	before := served()
	dir := p.ok("models", "pull", "org/killed")
	const size = killedWeights + moverBlock/2
	if all := served(); all > size+kills*moverBlock*moverMost {
		t.Errorf("%d bytes were sent for %d bytes and %d kills", all, size, kills)
	} else {
		t.Logf("%d kills cost %.1f MB each; %.1f MB were left for the end", kills, float64(all-size)/1e6/float64(max(kills, 1)), float64(all-before)/1e6)
	}
	for file, seed := range map[string]uint64{"a.safetensors": seed, "b.safetensors": seed + 1} {
		want := fakehub.Random(map[string]int64{"a.safetensors": killedWeights, "b.safetensors": moverBlock / 2}[file], seed)
		if sum, err := state.Digest(filepath.Join(dir, file)); err != nil || sum != sumOf(want) {
			t.Errorf("%s is not right: %v", file, err)
		}
	}
	p.ok("models", "verify", "org/killed")
	wantNoParts(t, p.env["HF_HOME"])
	p.ok("models", "rm", "org/killed", "--yes")
}

// killPull is one kill, at a moment of the start or of the transfer. It is false where the
// download had come to its end before.
func killPull(p *place, served func() int64) bool {
	until, after := served(), rand.N(400*time.Millisecond)
	if rand.N(4) > 0 {
		until += rand.N[int64](killedWeights / 4)
		after = rand.N(20 * time.Millisecond)
	}
	j := p.seer("models", "pull", "org/killed")
	for served() < until && !j.over() {
		time.Sleep(time.Millisecond) // the hub is asked; nothing depends on how long
	}
	killed, r := j.killAfter(after)
	if !killed && r.code != 0 {
		p.t.Errorf("it ended with %d by itself: %s", r.code, clip(r.err))
	}
	return r.code != 0
}

// wantNoParts expects a cache without files of downloads that are not complete.
func wantNoParts(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/.locks/") {
			return err
		}
		for _, part := range []string{".seer", ".incomplete", ".ranges", ".new", ".lock"} {
			if strings.HasSuffix(d.Name(), part) {
				t.Errorf("left behind: %s", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
