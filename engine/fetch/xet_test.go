package fetch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/sdk"
)

// hubFetcher is a fetcher of one file of a fake Hub, as the Hub's plugin is one.
type hubFetcher struct {
	t   testing.TB
	hub *fakehub.Hub
	no  bool // Xet is disabled
}

const xetFile = "model.safetensors"

func (f *hubFetcher) entry(revision string) (commit string, file sdk.ModelFile, hash string) {
	f.t.Helper()
	if revision == "" {
		revision = "main"
	}
	commit = f.hub.Commit("org/xet", revision)
	resp, err := http.Get(f.hub.URL(fakehub.API) + "/api/models/org/xet/tree/" + commit)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	var tree []struct {
		Path    string
		XetHash string
		LFS     struct {
			OID  string
			Size int64
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&tree); err != nil {
		f.t.Fatal(err)
	}
	for _, e := range tree {
		if e.Path == xetFile {
			return commit, sdk.ModelFile{Path: e.Path, Size: e.LFS.Size, SHA256: e.LFS.OID}, e.XetHash
		}
	}
	f.t.Fatal("the file is not there")
	return "", sdk.ModelFile{}, ""
}

func (f *hubFetcher) Resolve(_ context.Context, r sdk.ModelRef) (sdk.ResolvedModel, error) {
	commit, file, _ := f.entry(r.Revision)
	return sdk.ResolvedModel{Name: "org/xet", Revision: commit, Files: []sdk.ModelFile{file}}, nil
}

func (f *hubFetcher) Locate(_ context.Context, r sdk.FileRef) (sdk.Location, error) {
	commit, _, hash := f.entry(r.Revision)
	at := sdk.Location{URL: f.hub.URL(fakehub.API) + "/org/xet/resolve/" + commit + "/" + r.Path}
	if !f.no {
		at.Xet = sdk.Xet{Hash: hash, TokenURL: f.hub.URL(fakehub.API) + "/api/models/org/xet/xet-read-token/" + commit}
	}
	return at, nil
}

// weightsOf are bytes of which every other run can be compressed.
func weightsOf(t *testing.T, seed uint64, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(fakehub.Random(int64(size), seed), 0, int64(size)), data); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if i>>19&1 == 1 && i%4 != 0 {
			data[i] = 0x3c
		}
	}
	return data
}

const xetSize = 24 << 20

func xetHub(t testing.TB, o fakehub.Options, data []byte) *hubFetcher {
	t.Helper()
	o.Repos = []fakehub.Repo{{ID: "org/xet", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{xetFile: {Content: fakehub.Bytes(data), Kind: fakehub.Xet}}}}}}
	o.Limits = fakehub.Limits{API: 1 << 30, Resolvers: 1 << 30}
	if o.XorbSize == 0 {
		o.XorbSize = 4 << 20
	}
	hub, err := fakehub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return &hubFetcher{t: t, hub: hub}
}

func (f *hubFetcher) fetch(cache, revision string) (fetch.Model, error) {
	ref := sdk.ModelRef{Source: "hub", Name: "org/xet", Revision: revision}
	return fetch.Fetch(f.t.Context(), f, ref, fetch.Options{
		CacheDir: filepath.Join(cache, "own"), HubCache: filepath.Join(cache, "hub"), Stall: 2 * time.Second,
	})
}

func (f *hubFetcher) want(m fetch.Model, err error, data []byte) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(m.Dir, xetFile))
	if err != nil || !bytes.Equal(got, data) {
		f.t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A file that the storage has compressed comes from there, in either version of its API.
func TestXet(t *testing.T) {
	data := weightsOf(t, 1, xetSize)
	for name, o := range map[string]fakehub.Options{"v2": {}, "v1": {XetV1: true}, "short tokens": {XetLife: 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			f := xetHub(t, o, data)
			m, err := f.fetch(t.TempDir(), "")
			f.want(m, err, data)
			plain, via := f.hub.Count(fakehub.CDN, fakehub.Blob), f.hub.Count(fakehub.XetStorage, fakehub.Xorb)
			if plain.Bytes != 0 || via.Bytes == 0 || via.Bytes > xetSize*8/10 {
				t.Errorf("%d bytes plain, %d from the storage", plain.Bytes, via.Bytes)
			}
			if via.Authorization != 0 {
				t.Error("the token went to a signed address")
			}
			t.Logf("%d of %d bytes", via.Bytes, xetSize)
		})
	}
}

// Files that Xet would not make smaller, and all with Xet disabled, come by plain HTTPS.
func TestPlainInsteadOfXet(t *testing.T) {
	random := make([]byte, xetSize)
	_, _ = io.ReadFull(io.NewSectionReader(fakehub.Random(xetSize, 7), 0, xetSize), random)
	for name, tc := range map[string]struct {
		data []byte
		no   bool
	}{"incompressible": {random, false}, "disabled": {weightsOf(t, 1, xetSize), true}, "small": {weightsOf(t, 1, 1<<20), false}} {
		t.Run(name, func(t *testing.T) {
			f := xetHub(t, fakehub.Options{}, tc.data)
			f.no = tc.no
			m, err := f.fetch(t.TempDir(), "")
			f.want(m, err, tc.data)
			if via := f.hub.Count(fakehub.XetStorage, fakehub.Xorb); via.Requests != 0 {
				t.Errorf("%d requests of the storage", via.Requests)
			}
			if all := f.hub.Count(fakehub.XetStorage); tc.no && all.Requests != 0 {
				t.Errorf("%d requests of the storage although it is disabled", all.Requests)
			}
		})
	}
}

// Of another revision, only the chunks are transferred that differ from the one on the disk.
func TestXetOfAnotherRevision(t *testing.T) {
	data := make([]byte, xetSize)
	_, _ = io.ReadFull(io.NewSectionReader(fakehub.Random(xetSize, 3), 0, xetSize), data)
	f := xetHub(t, fakehub.Options{}, data)
	cache := t.TempDir()
	m, err := f.fetch(cache, "")
	f.want(m, err, data)

	next := bytes.Clone(data)
	copy(next[10<<20:], "another weight")
	next = append(next[:17<<20:17<<20], append([]byte("inserted"), next[17<<20:]...)...)
	if _, err := f.hub.Push("org/xet", "", fakehub.Commit{Files: map[string]fakehub.File{xetFile: {Content: fakehub.Bytes(next), Kind: fakehub.Xet}}}); err != nil {
		t.Fatal(err)
	}
	f.hub.ForgetRequests()
	m, err = f.fetch(cache, "")
	f.want(m, err, next)
	sent := f.hub.Count(fakehub.XetStorage, fakehub.Xorb).Bytes + f.hub.Count(fakehub.CDN, fakehub.Blob).Bytes
	if sent == 0 || sent > 1<<20 {
		t.Errorf("%d of %d bytes were transferred", sent, len(next))
	}
	t.Logf("%d of %d bytes", sent, len(next))

	// A copy that was changed on the disk is noticed.
	third := append(bytes.Clone(next), "the end"...)
	if _, err := f.hub.Push("org/xet", "", fakehub.Commit{Files: map[string]fakehub.File{xetFile: {Content: fakehub.Bytes(third), Kind: fakehub.Xet}}}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(next)
	for _, name := range []string{hex.EncodeToString(sum[:])} {
		blob := filepath.Join(cache, "hub", "models--org--xet", "blobs", name)
		file, err := os.OpenFile(blob, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte("X"), 9<<20); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	m, err = f.fetch(cache, "")
	f.want(m, err, third)
}

// Whatever the storage does wrong, the right bytes come.
func TestXetFaults(t *testing.T) {
	data := weightsOf(t, 1, xetSize)
	never := make(chan struct{})
	for name, fault := range map[string]fakehub.Fault{
		"lies once":              {Call: fakehub.Xorb, Lie: true, Times: 1},
		"always lies":            {Call: fakehub.Xorb, Lie: true},
		"flips a bit":            {Call: fakehub.Xorb, After: 5000, Flip: true, Times: 2},
		"expired once":           {Call: fakehub.Xorb, Expired: true, Skip: 1, Times: 1},
		"always expired":         {Call: fakehub.Xorb, Expired: true, Skip: 1},
		"refuses everything":     {Call: fakehub.Xorb, Status: http.StatusForbidden},
		"range not satisfiable":  {Call: fakehub.Xorb, Status: http.StatusRequestedRangeNotSatisfiable},
		"ignores ranges":         {Call: fakehub.Xorb, IgnoreRange: true},
		"missing":                {Call: fakehub.Xorb, Status: http.StatusNotFound},
		"cut":                    {Call: fakehub.Xorb, After: 100_000, Cut: true, Times: 3},
		"stalls":                 {Call: fakehub.Xorb, After: 100_000, Stall: never, Times: 1},
		"overloaded":             {Call: fakehub.Xorb, Status: http.StatusServiceUnavailable, Times: 2},
		"no reconstruction":      {Call: fakehub.Reconstruction, Status: http.StatusNotFound},
		"reconstruction fails":   {Call: fakehub.Reconstruction, Status: http.StatusInternalServerError},
		"reconstruction dropped": {Call: fakehub.Reconstruction, Drop: true},
		"token refused once":     {Call: fakehub.Reconstruction, Status: http.StatusUnauthorized, Times: 1},
		"token refused":          {Call: fakehub.Reconstruction, Status: http.StatusUnauthorized},
		"not v2":                 {Call: fakehub.Reconstruction, Status: http.StatusNotImplemented, Times: 1},
		"reconstruction cut":     {Call: fakehub.Reconstruction, After: 100, Cut: true},
		"no token":               {Call: fakehub.XetToken, Status: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o fakehub.Options
			if fault.Lie {
				o.XorbSize = 64 << 20 // the fake can lie only about a chunk that is not compressed, such as the first one
			}
			f := xetHub(t, o, data)
			f.hub.Inject(fault)
			m, err := f.fetch(t.TempDir(), "")
			f.want(m, err, data)
		})
	}
}

// An address with several signed ranges is read in one answer of several parts, also if that
// is cut.
func TestXetMultipart(t *testing.T) {
	data := weightsOf(t, 1, xetSize)
	next := bytes.Clone(data)
	copy(next[9<<20:], bytes.Repeat([]byte("another layer"), 50_000))
	for name, fault := range map[string]fakehub.Fault{
		"good": {Call: fakehub.Info}, "cut": {Call: fakehub.Xorb, After: 200_000, Cut: true, Times: 4}, "always cut": {Call: fakehub.Xorb, After: 200_000, Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := xetHub(t, fakehub.Options{XorbSize: 16 << 20}, data)
			if _, err := f.hub.Push("org/xet", "next", fakehub.Commit{Files: map[string]fakehub.File{xetFile: {Content: fakehub.Bytes(next), Kind: fakehub.Xet}}}); err != nil {
				t.Fatal(err)
			}
			f.hub.Inject(fault)
			m, err := f.fetch(t.TempDir(), "next")
			f.want(m, err, next)
			if !slices.ContainsFunc(f.hub.Requests(), func(r fakehub.Request) bool { return r.Call == fakehub.Xorb && strings.Contains(r.Range, ",") }) {
				t.Error("no request has several ranges")
			}
		})
	}
}

// A machine receives signed addresses and no token.
func TestXetOfAMachine(t *testing.T) {
	f := xetHub(t, fakehub.Options{}, weightsOf(t, 1, xetSize))
	remote, err := fetch.Options{CacheDir: t.TempDir()}.Find(t.Context(), f, sdk.ModelRef{Source: "hub", Name: "org/xet"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		at, err := remote.Locate(t.Context(), xetFile)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "xet_") || strings.Contains(string(text), "token_url") {
			t.Errorf("%s", text)
		}
		if viaXet := len(at.Parts) > 0; viaXet != (n < 2) { // after two that did not help, the plain one
			t.Errorf("location %d is %s", n, text)
		}
	}
}
