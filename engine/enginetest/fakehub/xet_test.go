package fakehub_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// The hashes that the official client computes of the same bytes.
func TestHashesOfFiles(t *testing.T) {
	for _, c := range []struct {
		content fakehub.Content
		want    string
	}{
		{fakehub.Text(""), "0000000000000000000000000000000000000000000000000000000000000000"},
		{fakehub.Random(1, 0), "65013edd008b17b61b88618fc55cd84af69611d1190d67c9ca25276eaa22bb53"},
		{fakehub.Random(1000, 0), "7813ede7df2fee4d55ebdbd36dfde75817c988a87857723532211539155bf2ae"},
		{fakehub.Random(8192, 0), "fd9a9a47884c4d95ca19ee0aef1242c5f5b1b52e7b05020bc773dffc6cd83352"},
		{fakehub.Random(1_000_000, 0), "3d17b2d7d64a0e011b6717a52d9a16bd2c3f05b743fa8adf52a7d75dafab6d89"},
		{fakehub.Bytes(bytes.Repeat([]byte{59}, 1_000_000)), "53f845640fcd1c7440befff65bd93434c83a30c6559a705597d61f2ef64e2f88"},
		{fakehub.Random(20_000_000, 7), "760946c0f0622fbab0bd240cc751f8c79350a5c68664d0a8f5085c0ed85f1299"},
	} {
		r := start(t, func(o *fakehub.Options) {
			o.Repos = []fakehub.Repo{{ID: "a/b", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"f": {Content: c.content, Kind: fakehub.Xet}}}}}}
		})
		if got := r.send("HEAD", "/a/b/resolve/main/f", "").header.Get("X-Xet-Hash"); got != c.want {
			t.Errorf("%d bytes: %s, want %s", c.content.Size(), got, c.want)
		}
	}
}

func TestRandomIsTheSameInParts(t *testing.T) {
	c := fakehub.Random(1000, 3)
	all := read(c)
	for _, off := range []int{0, 1, 7, 8, 500, 993, 999} {
		part := make([]byte, 9)
		n, err := c.ReadAt(part, int64(off))
		if want := min(9, 1000-off); n != want || !bytes.Equal(part[:n], all[off:off+n]) || (err != nil) != (n < 9) {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	if n, err := c.ReadAt(make([]byte, 1), 1000); n != 0 || err == nil {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

func TestXetDownloads(t *testing.T) {
	for name, size := range map[string]int64{"one xorb": 0, "many xorbs": 200_000} {
		r := start(t, func(o *fakehub.Options) { o.XorbSize = size })
		ranges := 0
		for path, want := range map[string][]byte{"model.safetensors": weights, "mixed.safetensors": mixed()} {
			for _, version := range []string{"v1", "v2"} {
				rec := r.reconstruction(version, path)
				got, err := r.assemble(rec)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %s by %s: %d bytes, %v", name, path, version, len(got), err)
				}
				for _, f := range rec.Fetches {
					ranges = max(ranges, len(f.Ranges))
				}
			}
		}
		if size == 0 && ranges < 2 {
			t.Errorf("%s: no fetch has several ranges", name)
		}
		for _, q := range r.Requests() {
			if q.Call == fakehub.Xorb && q.Authorization {
				t.Errorf("%+v", q)
			}
		}
	}
}

func TestXetRanges(t *testing.T) {
	r := start(t)
	want := mixed()
	size := len(want)
	for _, c := range [][2]int{{0, 0}, {1, 1}, {0, size - 1}, {size - 1, size - 1}, {100_000, 100_001}, {190_000, 420_000}, {size - 5, size + 5}} {
		rec := r.reconstruction("v2", "mixed.safetensors", "Range", fmt.Sprintf("bytes=%d-%d", c[0], c[1]))
		got, err := r.assemble(rec)
		last := min(c[1], size-1)
		if n := last - c[0] + 1; err != nil || len(got) < n || !bytes.Equal(got[:n], want[c[0]:last+1]) {
			t.Errorf("%v: %d bytes, %v", c, len(got), err)
		}
	}
}

func TestXetStorageRefuses(t *testing.T) {
	clock := enginetest.NewClock()
	r := start(t, func(o *fakehub.Options) { o.Clock = clock })
	rec := r.reconstruction("v2", "model.safetensors")
	f := rec.Fetches[0]
	hash := r.send("HEAD", "/org/model/resolve/main/model.safetensors", "").header.Get("X-Xet-Hash")
	var token, other struct{ AccessToken string }
	r.get(200, "/api/models/org/model/xet-read-token/main", "").json(t, &token)
	r.get(200, "/api/datasets/org/data/xet-read-token/main", "").json(t, &other)
	at := r.URL(fakehub.XetStorage) + "/v2/reconstructions/"
	r.get(401, at+hash, "")
	r.get(401, at+hash, alice)
	r.get(404, at+hash, other.AccessToken) // of another repository
	r.get(404, at+"00000000000000000000000000000000000000000000000000000000000000ff", token.AccessToken)
	r.get(400, at+"zz", token.AccessToken)
	r.get(416, at+hash, token.AccessToken, "Range", "bytes=600000-600001")
	r.get(400, at+hash, token.AccessToken, "Range", "bytes=5-1")

	r.get(403, f.URL, "")
	r.get(403, f.URL, "", "Range", "bytes=0-999999999")
	first := f.Ranges[0].Bytes.First
	r.get(206, f.URL, "", "Range", fmt.Sprintf("bytes=%d-%d", first, first+9)) // a part of what is signed
	r.get(403, f.URL+"0", "", "Range", f.Header())
	clock.Advance(time.Hour)
	r.get(403, f.URL, "", "Range", f.Header())
	r.get(401, at+hash, token.AccessToken)

	old := start(t, func(o *fakehub.Options) { o.XetV1 = true })
	old.get(200, "/api/models/org/model/xet-read-token/main", "").json(t, &token)
	old.get(404, old.URL(fakehub.XetStorage)+"/v2/reconstructions/"+hash, token.AccessToken)
	if got, err := old.assemble(old.reconstruction("v1", "model.safetensors")); err != nil || !bytes.Equal(got, weights) {
		t.Errorf("version 1: %d bytes, %v", len(got), err)
	}
}

// A lie is a chunk that decodes and has another content.
func TestLie(t *testing.T) {
	for _, path := range []string{"model.safetensors", "mixed.safetensors"} {
		r := start(t, func(o *fakehub.Options) { o.XorbSize = 100_000 })
		rec := r.reconstruction("v2", path)
		want, err := r.assemble(rec)
		if err != nil {
			t.Fatal(err)
		}
		for range rec.Fetches {
			r.Inject(fakehub.Fault{Call: fakehub.Xorb, Lie: true, Times: 1})
		}
		got, err := r.assemble(rec)
		if err != nil || len(got) != len(want) || bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", path, len(got), len(want), err)
		}
		if again, err := r.assemble(rec); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s, after it: %v", path, err)
		}
	}
}
