package fakehub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/transfer/xet"
)

const (
	alice = "hf_alice"
	bob   = "hf_bob"
)

var (
	weights = read(fakehub.Random(600_000, 7))
	lfsData = read(fakehub.Random(50_000, 8))
)

func read(c fakehub.Content) []byte {
	b := make([]byte, c.Size())
	if n, err := c.ReadAt(b, 0); n < len(b) {
		panic(err)
	}
	return b
}

// mixed has chunks of weights, in another order, and some of its own. It needs several ranges
// of a xorb.
func mixed() []byte {
	return bytes.Join([][]byte{weights[400_000:], bytes.Repeat([]byte("compressible text, "), 5000), weights[:250_000], weights[400_000:]}, nil)
}

func repos() []fakehub.Repo {
	files := map[string]fakehub.File{
		"config.json":       {Content: fakehub.Text("{}\n")},
		"sub/a b.txt":       {Content: fakehub.Text("text")},
		"sub/deep/c.txt":    {Content: fakehub.Text("c")},
		"empty":             {},
		"model.bin":         {Content: fakehub.Bytes(lfsData), Kind: fakehub.LFS},
		"model.safetensors": {Content: fakehub.Bytes(weights), Kind: fakehub.Xet},
		"mixed.safetensors": {Content: fakehub.Bytes(mixed()), Kind: fakehub.Xet},
	}
	commits := []fakehub.Commit{{Files: map[string]fakehub.File{"config.json": {Content: fakehub.Text("old")}}}, {Files: files}}
	small := []fakehub.Commit{{Files: map[string]fakehub.File{
		"config.json": files["config.json"], "empty": {}, "model.bin": files["model.bin"], "x": {Content: fakehub.Text("x"), Kind: fakehub.Xet},
	}}}
	return []fakehub.Repo{
		{ID: "org/model", Commits: commits, Tags: map[string]int{"v1": 0}, Branches: map[string]int{"side": 0}, Pulls: map[int]int{3: 0}},
		{ID: "org/gated", Gated: "auto", Readers: []string{"alice"}, Commits: small},
		{ID: "org/private", Private: true, Readers: []string{"alice"}, Commits: small},
		{ID: "bob/private", Private: true, Commits: small},
		{ID: "org/disabled", Disabled: true, Commits: small},
		{ID: "legacy", Commits: small},
		{ID: "org/data", Type: fakehub.Dataset, Commits: small},
	}
}

type rig struct {
	*fakehub.Hub
	t      *testing.T
	client *http.Client // follows no redirects
}

func start(t *testing.T, change ...func(*fakehub.Options)) *rig {
	t.Helper()
	o := fakehub.Options{Repos: repos(), Users: map[string]string{alice: "alice", bob: "bob"}}
	for _, c := range change {
		c(&o)
	}
	hub, err := fakehub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		hub.Close()
	})
	return &rig{hub, t, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of the body
}

// send sends a request to a path of the API or to a whole URL. header has names and values.
func (r *rig) send(method, at, token string, header ...string) answer {
	r.t.Helper()
	if at[0] == '/' {
		at = r.URL(fakehub.API) + at
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, at, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body, err}
}

// get expects a status.
func (r *rig) get(status int, at, token string, header ...string) answer {
	r.t.Helper()
	a := r.send("GET", at, token, header...)
	if a.status != status || a.err != nil {
		r.t.Fatalf("%s: %d %s %v, want %d", at, a.status, a.body, a.err, status)
	}
	return a
}

func (a answer) json(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

// fetched is where a large file is.
func (r *rig) located(path string) string {
	r.t.Helper()
	return r.get(302, path, "").header.Get("Location")
}

// reconstruction asks for a file, or with header Range for a part of it.
func (r *rig) reconstruction(version, path string, header ...string) *xet.Reconstruction {
	r.t.Helper()
	hash := r.send("HEAD", "/org/model/resolve/main/"+path, "").header.Get("X-Xet-Hash")
	var token struct{ AccessToken, CasURL string }
	r.get(200, "/api/models/org/model/xet-read-token/main", "").json(r.t, &token)
	a := r.get(200, fmt.Sprintf("%s/%s/reconstructions/%s", token.CasURL, version, hash), token.AccessToken, header...)
	rec, err := xet.ParseReconstruction(a.body)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// assemble fetches what a reconstruction lists and puts it together.
func (r *rig) assemble(rec *xet.Reconstruction) ([]byte, error) {
	chunks := map[string][]byte{}
	for _, f := range rec.Fetches {
		a := r.send("GET", f.URL, "", "Range", f.Header())
		if a.err != nil {
			return nil, a.err
		}
		err := xet.ReadByteRanges(a.status, a.header, bytes.NewReader(a.body), f.Bytes(), func(i int, part io.Reader) error {
			d := xet.NewDecoder(part)
			for at := f.Ranges[i].Chunks.Start; at < f.Ranges[i].Chunks.End; at++ {
				c, err := d.Next()
				if err != nil {
					return err
				}
				chunks[fmt.Sprint(f.Xorb, at)] = bytes.Clone(c.Raw)
			}
			_, err := d.Next()
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("after the last chunk: %v", err)
		})
		if err != nil {
			return nil, err
		}
	}
	var file []byte
	for _, t := range rec.Terms {
		before := len(file)
		for i := t.Chunks.Start; i < t.Chunks.End; i++ {
			file = append(file, chunks[fmt.Sprint(t.Xorb, i)]...)
		}
		if n := int64(len(file) - before); n != t.Length {
			return nil, fmt.Errorf("a term of %d bytes has %d", t.Length, n)
		}
	}
	return file[rec.Skip:], nil
}
