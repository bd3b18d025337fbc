package oci_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/sdk"
)

const (
	imageType = "application/vnd.oci.image.manifest.v1+json"
	kinds     = "application/vnd.seer.plugin."
)

func sum(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// registry is one that is written by hand, to lie. What it has no answer for is 404.
type registry struct {
	*httptest.Server
	pages sync.Map // path → http.HandlerFunc
	wasm  string   // where the module is
}

func lying(t *testing.T) *registry {
	t.Helper()
	r := &registry{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if page, ok := r.pages.Load(req.URL.Path); ok {
			page.(http.HandlerFunc)(w, req)
			return
		}
		http.NotFound(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *registry) host() string { return strings.TrimPrefix(r.URL, "http://") }
func (r *registry) ref() string  { return r.host() + "/acme/tiny:1" }

func (r *registry) on(path string, page http.HandlerFunc) { r.pages.Store("/v2/acme/tiny/"+path, page) }

func says(mediaType string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data)
	}
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

func (r *registry) blob(kind string, data []byte) descriptor {
	r.on("blobs/"+sum(data), says("application/octet-stream", data))
	return descriptor{kinds + kind, sum(data), int64(len(data))}
}

// serve offers an honest plugin, but for what spoil changes of its OCI manifest.
func (r *registry) serve(t *testing.T, spoil func(m map[string]any)) {
	t.Helper()
	b := newBundle(t, "1.0.0", 1000)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := enc.EncodeAll(b.Wasm, nil)
	r.wasm = "blobs/" + sum(packed)
	m := map[string]any{"schemaVersion": 2, "mediaType": imageType, "artifactType": kinds + "v1",
		"config": r.blob("manifest.v1+yaml", b.Manifest), "layers": []descriptor{r.blob("wasm.v1+zstd", packed)}}
	if spoil != nil {
		spoil(m)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	r.on("manifests/1", says(fmt.Sprint(m["mediaType"]), text))
}

func TestHandWritten(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, func(m map[string]any) { // of a later Seer
		m["layers"] = append(m["layers"].([]descriptor), descriptor{kinds + "poem.v9+text", "sha256:x", 1 << 60})
	})
	if b, _, err := plain().Pull(t.Context(), r.ref()); err != nil || b.ID != "provider-tiny" {
		t.Fatal(err) // else what follows says nothing
	}
}

func TestLies(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	layer := func(m map[string]any, i int) *descriptor { return &m["layers"].([]descriptor)[i] }
	for name, tc := range map[string]struct {
		spoil func(map[string]any)
		text  string
	}{
		"an image": {func(m map[string]any) {
			delete(m, "artifactType")
			m["config"] = descriptor{MediaType: "application/vnd.oci.image.config.v1+json"}
		}, "a container image, not a Seer plugin"},
		"an index": {func(m map[string]any) {
			m["mediaType"] = "application/vnd.oci.image.index.v1+json"
			delete(m, "artifactType")
		}, "for several platforms"},
		"a chart": {func(m map[string]any) { m["artifactType"] = "application/vnd.cncf.helm\x1b[2J" }, `"application/vnd.cncf.helm[2J", not`},
		"a config of 10 GB": {func(m map[string]any) {
			c := m["config"].(descriptor)
			c.Size = 10 << 30
			m["config"] = c
		}, "its manifest is said to be of 10737418240 bytes; at most 65536"},
		"another config": {func(m map[string]any) { m["config"] = descriptor{MediaType: "x"} }, "its config is of the type"},
		"a huge module":  {func(m map[string]any) { layer(m, 0).Size = 1 << 40 }, "its module is said to be of"},
		"less than none": {func(m map[string]any) { layer(m, 0).Size = -1 }, "its module is said to be of -1 bytes"},
		"no module":      {func(m map[string]any) { layer(m, 0).MediaType = "text/plain" }, "it has no layer of the type"},
		"no digest":      {func(m map[string]any) { layer(m, 0).Digest = "md5:00" }, "which is not sha256"},
		"a path":         {func(m map[string]any) { layer(m, 0).Digest = "sha256:../../../etc" }, "which is not sha256"},
		"two modules":    {func(m map[string]any) { m["layers"] = append(m["layers"].([]descriptor), *layer(m, 0)) }, "two layers of the type"},
		"too large":      {func(m map[string]any) { m["padding"] = strings.Repeat("x", 300<<10) }, "larger than 256 KiB"},
	} {
		r := lying(t)
		r.serve(t, tc.spoil)
		b, origin, err := plain().Pull(t.Context(), r.ref())
		if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(fmt.Sprint(err), tc.text) || !strings.HasPrefix(fmt.Sprint(err), r.ref()+": ") {
			t.Errorf("%s: %s %v", name, sdk.CodeOf(err), err)
		}
		if b.Wasm != nil || origin.OCI != "" {
			t.Errorf("%s: something came nevertheless", name)
		}
	}
}

func TestOtherBytes(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	var honest []byte
	resp, err := http.Get(r.URL + "/v2/acme/tiny/" + r.wasm)
	if err != nil {
		t.Fatal(err)
	}
	buf := new(bytes.Buffer)
	_, _ = buf.ReadFrom(resp.Body)
	resp.Body.Close()
	honest = buf.Bytes()
	promised := func(w http.ResponseWriter, some []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(honest)))
		_, _ = w.Write(some)
		w.(http.Flusher).Flush()
	}
	for name, tc := range map[string]struct {
		page http.HandlerFunc
		code sdk.Code
		text string
	}{
		"tampered": {says("application/octet-stream", append(bytes.Clone(honest[:len(honest)-1]), honest[len(honest)-1]^1)), sdk.Invalid, "is something else: it has the digest"},
		"cut off":  {func(w http.ResponseWriter, req *http.Request) { promised(w, honest[:10]); panic(http.ErrAbortHandler) }, sdk.Unavailable, "broke off after 10 of "},
		"longer":   {says("application/octet-stream", append(bytes.Clone(honest), 0)), sdk.Unavailable, "Content-Length"},
		"endless": {func(w http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				if _, err := w.Write(honest); err != nil {
					return
				}
			}
		}, sdk.Invalid, "larger than"},
		"gone": {http.NotFound, sdk.NotFound, "not all of what it names"},
		"broken": {func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write([]byte(`{"errors":[{"code":"UNKNOWN","message":"disk \u001b[2J full"}]}`))
		}, sdk.Unavailable, "answered 500: unknown: disk [2J full"},
		"the other page": {says("text/html", []byte("<html>")), sdk.Unavailable, "Content-Length"},
	} {
		r.on(r.wasm, tc.page)
		r.on("tags/list", says("application/json", []byte(`{"tags":["2"]}`)))
		b, _, err := plain().Pull(t.Context(), r.ref())
		if sdk.CodeOf(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.text) || strings.Contains(fmt.Sprint(err), "\x1b") || b.Wasm != nil {
			t.Errorf("%s: %s %v", name, sdk.CodeOf(err), err)
		}
	}
	// A digest that is asked for is the digest of what comes, whatever the server says it is.
	asked := "sha256:" + strings.Repeat("ab", 32)
	r.on("manifests/"+asked, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Docker-Content-Digest", asked)
		page, _ := r.pages.Load("/v2/acme/tiny/manifests/1")
		page.(http.HandlerFunc)(w, req)
	})
	if _, _, err := plain().Pull(t.Context(), r.host()+"/acme/tiny@"+asked); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "is something else") {
		t.Errorf("%v", err)
	}
}
