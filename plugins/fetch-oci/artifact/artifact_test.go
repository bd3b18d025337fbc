package artifact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testoci"
	"github.com/seer-engine/seer/plugins/fetch-oci/artifact"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
	"github.com/seer-engine/seer/sdk/sdktest"
)

var model = []testoci.Layer{
	testoci.File("config.json", []byte("{}")), testoci.File("sub/empty", nil),
	{MediaType: "application/vnd.cncf.model.weight.v1.raw", Annotations: map[string]string{"org.cncf.model.filepath": "model.safetensors"}, Content: bytes.Repeat([]byte("w"), 1<<20)},
	{MediaType: "application/octet-stream", Content: []byte("no file")},
}

// withLogin adds a login, as the host does for the registry that it is bound to.
type withLogin struct {
	http.RoundTripper
	login string
}

func (w withLogin) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(w.login)))
	return w.RoundTripper.RoundTrip(r)
}

func TestModel(t *testing.T) {
	for name, change := range map[string]func(r *testoci.Registry, o *artifact.Options, origin string){
		"open":  func(*testoci.Registry, *artifact.Options, string) {},
		"token": func(r *testoci.Registry, _ *artifact.Options, _ string) { r.Token = "anonymous-token" },
		"redirects": func(r *testoci.Registry, _ *artifact.Options, _ string) {
			storage := httptest.NewServer(r.Storage())
			t.Cleanup(storage.Close)
			r.Token, r.Redirect = "anonymous-token", storage.URL
		},
		"login": func(r *testoci.Registry, o *artifact.Options, origin string) {
			storage := httptest.NewServer(r.Storage())
			t.Cleanup(storage.Close)
			r.Login, r.Redirect, o.Registry = "user:password", storage.URL, origin
			o.Sender = guesthttp.Over(withLogin{http.DefaultTransport, r.Login})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &testoci.Registry{}
			digest := r.Add("org/tiny", "v1", model...)
			s := httptest.NewServer(r)
			defer s.Close()
			o := artifact.Options{Sender: guesthttp.Over(http.DefaultTransport), Origins: "https://other.example, " + s.URL}
			change(r, &o, s.URL)
			f := artifact.New(o)
			host := strings.TrimPrefix(s.URL, "http://")
			for _, ref := range []sdk.ModelRef{{Name: host + "/org/tiny:v1"}, {Name: host + "/org/tiny", Revision: "v1"}, {Name: host + "/org/tiny@" + digest}} {
				m, err := f.Resolve(t.Context(), ref)
				if err != nil || m.Name != host+"/org/tiny" || m.Revision != digest || len(m.Files) != 3 {
					t.Fatalf("%+v, %v", m, err)
				}
				for _, file := range m.Files {
					at, err := artifact.New(o).Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: file.Path})
					if err != nil {
						t.Fatal(err)
					}
					if got := testoci.Digest(read(t, at)); got != "sha256:"+file.SHA256 {
						t.Errorf("%s: %s", file.Path, got)
					}
					if text, _ := json.Marshal(at); strings.Contains(string(text), "Basic") || r.Redirect != "" && len(at.Headers) > 0 {
						t.Errorf("%s shows a credential: %s", file.Path, text)
					}
				}
			}
		})
	}
}

func read(t *testing.T, at sdk.Location) []byte {
	t.Helper()
	if at.URL == "" {
		return at.Content
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range at.Headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", at.URL, resp.Status, err)
	}
	return body
}

// A registry with a login that sends files itself gives small ones through the host alone.
func TestLoginWithoutRedirects(t *testing.T) {
	r := &testoci.Registry{Login: "user:password"}
	r.Add("org/tiny", "v1", testoci.File("small", []byte("small")), testoci.File("large", make([]byte, sdk.MaxContent+1)))
	s := httptest.NewServer(r)
	defer s.Close()
	f := artifact.New(artifact.Options{Sender: guesthttp.Over(withLogin{http.DefaultTransport, r.Login}), Origins: s.URL, Registry: s.URL})
	m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: strings.TrimPrefix(s.URL, "http://") + "/org/tiny:v1"})
	if err != nil {
		t.Fatal(err)
	}
	at, err := f.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: "small"})
	if err != nil || string(at.Content) != "small" {
		t.Errorf("%+v, %v", at, err)
	}
	if _, err = f.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: "large"}); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), "redirects to signed addresses") {
		t.Errorf("%v", err)
	}
	wrong := artifact.New(artifact.Options{Sender: guesthttp.Over(withLogin{http.DefaultTransport, "x:y"}), Origins: s.URL, Registry: s.URL})
	if _, err := wrong.Resolve(t.Context(), sdk.ModelRef{Name: m.Name + ":v1"}); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "refuses the login") {
		t.Errorf("%v", err)
	}
	none := artifact.New(artifact.Options{Sender: guesthttp.Over(http.DefaultTransport), Origins: s.URL})
	if _, err := none.Resolve(t.Context(), sdk.ModelRef{Name: m.Name + ":v1"}); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "set SEER_OCI_REGISTRY to "+s.URL) {
		t.Errorf("%v", err)
	}
}

// index is one of manifests by platform.
func index(entries ...map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries})
	if err != nil {
		panic(err)
	}
	return text
}

func entry(digest, system, machine string) map[string]any {
	e := map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1}
	if system != "" {
		e["platform"] = map[string]string{"os": system, "architecture": machine}
	}
	return e
}

func TestManifests(t *testing.T) {
	r := &testoci.Registry{}
	s := httptest.NewServer(r)
	defer s.Close()
	amd, arm := r.Add("m", "amd", testoci.File("amd", nil)), r.Add("m", "arm", testoci.File("arm", nil))
	r.AddManifest("m", "both", index(entry(arm, "linux", "arm64"), entry(amd, "linux", "amd64")))
	r.AddManifest("m", "one", index(entry(arm, "linux", "arm64")))
	r.AddManifest("m", "any", index(entry(arm, "", ""), entry(arm, "darwin", "arm64")))
	r.AddManifest("m", "none", index(entry(arm, "linux", "arm64"), entry(amd, "windows", "amd64")))
	r.AddManifest("m", "sha512", index(entry("sha512:00", "linux", "amd64")))
	inner := r.AddManifest("m", "inner", index(entry(amd, "linux", "amd64")))
	r.AddManifest("m", "nested", index(entry(inner, "linux", "amd64")))
	r.AddManifest("m", "html", []byte("<html>"))
	r.Add("m", "up", testoci.File("../x", nil))
	r.Add("m", "twice", testoci.File("x", nil), testoci.File("x", []byte("y")))
	r.Add("m", "tar", testoci.Layer{MediaType: "application/vnd.cncf.model.weight.v1.tar", Annotations: map[string]string{"org.cncf.model.filepath": "x"}})
	r.Add("m", "gzip", testoci.Layer{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip", Annotations: map[string]string{"org.opencontainers.image.title": "x"}})
	r.Add("m", "image", testoci.Layer{MediaType: "application/vnd.oci.image.layer.v1.tar"})
	r.AddManifest("m", "digest", bytes.Replace(testoci.Manifest(testoci.File("x", nil)), []byte("sha256:e3"), []byte("sha256:E3"), 1))
	f := artifact.New(artifact.Options{Sender: guesthttp.Over(http.DefaultTransport), Origins: s.URL})
	host := strings.TrimPrefix(s.URL, "http://")
	for tag, want := range map[string]string{
		"both": "amd", "one": "arm", "any": "arm",
		"none": "none is for linux/amd64", "sha512": "only SHA-256", "nested": "from one index to another", "html": "something else than a manifest",
		"up": "leads out of the model", "twice": "twice", "tar": "as an archive", "gzip": "as an archive", "image": "no layer has the annotation",
		"digest": "only SHA-256", "missing": "does not exist in the registry",
	} {
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: host + "/m:" + tag})
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && (len(m.Files) != 1 || m.Files[0].Path != want) {
			t.Errorf("%s: %+v, %v", tag, m, err)
		}
	}
	for _, name := range []string{"", "m", "org/m:v1", host, host + "/", host + "/M", host + "/m:", host + "/m@sha256:12", host + "/a//b", "u@" + host + "/m", host + "/m:v1?x", "registry.lab/../x"} {
		if _, err := f.Resolve(t.Context(), sdk.ModelRef{Name: name}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestConformance(t *testing.T) {
	r := &testoci.Registry{Token: "anonymous-token", Realm: "https://registry.example/token"}
	r.Add("org/tiny", "v1", model...)
	for _, c := range sdktest.FetcherChecks(sdktest.FetcherKit{
		Open: func(c *http.Client) sdk.Fetcher {
			return artifact.New(artifact.Options{Sender: guesthttp.Over(c.Transport)})
		},
		Cloud: r, Model: sdk.ModelRef{Source: "oci", Name: "registry.example/org/tiny:v1"}, Unknown: "registry.example/org/none:v1", Quick: true,
		Headers: http.Header{"X-Login": {"not used by a registry with tokens"}},
	}) {
		t.Run(c.Name, func(t *testing.T) {
			if c.Name == "hostile/unknown-fields" {
				t.Skip("a manifest with further fields is another manifest, with another digest")
			}
			if r := c.Run(t.Context()); r.Status == sdktest.Failed {
				t.Errorf("%s\n\nThe contract: %s", r.Detail, c.Doc)
			}
		})
	}
}

type answer string

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// Whatever a registry answers, no path leads out of the model.
func FuzzResolve(f *testing.F) {
	f.Add(string(testoci.Manifest(model...)), "a.example/m:v1")
	f.Add(string(index(entry("sha256:"+strings.Repeat("0", 64), "", ""))), "a.example/m")
	f.Fuzz(func(t *testing.T, text, name string) {
		m, err := artifact.New(artifact.Options{Sender: guesthttp.Over(answer(text))}).Resolve(t.Context(), sdk.ModelRef{Name: name})
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if strings.Contains("/"+file.Path+"/", "/../") || strings.HasPrefix(file.Path, "/") || file.Size < 0 {
				t.Errorf("%+v", file)
			}
		}
	})
}
