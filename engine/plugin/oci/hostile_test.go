package oci_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/sdk"
)

const (
	short     = 100 * time.Millisecond
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

func TestTooSlow(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	hangs := func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	begins := func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte{0x28})
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}
	for name, page := range map[string]http.HandlerFunc{"hangs": hangs, "begins": begins} {
		r.on(r.wasm, page)
		c := plain()
		c.Transfer.Stall = short
		if _, _, err := c.Pull(t.Context(), r.ref()); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "nothing came for too long") {
			t.Errorf("%s: %v", name, err)
		}
		c = plain()
		c.Transfer.Total = short
		if _, _, err := c.Pull(t.Context(), r.ref()); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "took too long") {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(short, cancel)
		if _, _, err := plain().Pull(ctx, r.ref()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, Ctrl-C: %v", name, err)
		}
	}
}

func TestAskedTooOften(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	page, _ := r.pages.Load("/v2/acme/tiny/manifests/1")
	var asked atomic.Int32
	r.on("manifests/1", func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
			return
		}
		page.(http.HandlerFunc)(w, req)
	})
	if _, _, err := plain().Pull(t.Context(), r.ref()); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	r.on("manifests/1", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Retry-After", "900")
		w.WriteHeader(429)
	})
	_, _, err := plain().Pull(t.Context(), r.ref())
	var limited *sdk.Error
	if !errors.As(err, &limited) || limited.Code != sdk.RateLimited || limited.Seconds != 900 || !strings.Contains(err.Error(), "try again in 900 s") {
		t.Errorf("%v", err)
	}
}

// Registries keep blobs elsewhere and redirect there. The login is not for elsewhere.
func TestTheLoginStays(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	page, _ := r.pages.Load("/v2/acme/tiny/" + r.wasm)
	var elsewhereAsked, refused atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		elsewhereAsked.Add(1)
		if req.Header.Get("Authorization") != "" {
			t.Error("the login has left the registry")
		}
		if req.URL.Query().Get("trap") != "" { // ask for it, and name a place where to bring it
			refused.Add(1)
			w.Header().Set("Www-Authenticate", `Basic realm="mine"`)
			w.WriteHeader(401)
			return
		}
		page.(http.HandlerFunc)(w, req)
	}))
	t.Cleanup(elsewhere.Close)
	trap := ""
	locked := func(page http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			if user, password, ok := req.BasicAuth(); !ok || user != "ann" || password != "s3cret" {
				w.Header().Set("Www-Authenticate", `Basic realm="plugins"`)
				w.WriteHeader(401)
				return
			}
			page(w, req)
		}
	}
	r.pages.Range(func(path, page any) bool {
		r.pages.Store(path, locked(page.(http.HandlerFunc)))
		return true
	})
	r.on(r.wasm, locked(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, elsewhere.URL+"/blob?signature=S1GNED"+trap, http.StatusTemporaryRedirect)
	}))
	c := plain()
	c.Credentials = func(_ context.Context, host string) (string, string, error) {
		if host != r.host() {
			t.Errorf("the login for %s is asked for", host)
		}
		return "ann", "s3cret", nil
	}
	if _, _, err := c.Pull(t.Context(), r.ref()); err != nil || elsewhereAsked.Load() == 0 {
		t.Error("redirected:", err)
	}
	trap = "&trap=1"
	_, _, err := c.Pull(t.Context(), r.ref())
	if err == nil || refused.Load() == 0 || strings.Contains(err.Error(), "S1GNED") || strings.Contains(err.Error(), "docker login") {
		t.Errorf("%v", err)
	}
	// From https, nothing leads to http.
	secure := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(secure.Close)
	c = oci.Client{Transfer: plain().Transfer, Credentials: c.Credentials}
	c.Transfer.Transport = secure.Client().Transport
	before := elsewhereAsked.Load()
	if _, _, err := c.Pull(t.Context(), strings.TrimPrefix(secure.URL, "https://")+"/acme/tiny:1"); err == nil || !strings.Contains(err.Error(), "which is not https") || elsewhereAsked.Load() != before {
		t.Errorf("%v", err)
	}
}

// Most public registries hand a token to anybody who asks.
func TestToken(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	realm := r.URL + "/v2/acme/tiny/token"
	r.pages.Range(func(path, page any) bool {
		r.pages.Store(path, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Authorization") != "Bearer for-anybody" {
				w.Header().Set("Www-Authenticate", `Bearer realm="`+realm+`",service="plugins"`)
				w.WriteHeader(401)
				return
			}
			page.(http.HandlerFunc)(w, req)
		}))
		return true
	})
	r.on("token", func(w http.ResponseWriter, req *http.Request) {
		if scope := req.URL.Query().Get("scope"); scope != "repository:acme/tiny:pull" {
			t.Errorf("asked for %q", scope)
		}
		_, _ = w.Write([]byte(`{"token":"for-anybody"}`))
	})
	if _, _, err := plain().Pull(t.Context(), r.ref()); err != nil {
		t.Error(err)
	}
	// A realm may not be somebody else's service on this computer or network.
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	realm = "http://169.254.169.254/latest/meta-data?port=" + u.Port()
	if _, _, err := plain().Pull(t.Context(), r.ref()); err == nil || !strings.Contains(err.Error(), "169.254.169.254") {
		t.Errorf("%v", err)
	}
}
