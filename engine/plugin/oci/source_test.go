package oci_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/sdk"
)

var ones = "sha256:" + strings.Repeat("1", 64)

func TestResolve(t *testing.T) {
	// What lies in the folder does not matter.
	t.Chdir(t.TempDir())
	for _, dir := range []string{"acme", "registry.example/acme/tiny"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]oci.Place{
		"./x":                         {Kind: oci.File, Name: "./x"},
		"../x":                        {Kind: oci.File, Name: "../x"},
		"/a b/x":                      {Kind: oci.File, Name: "/a b/x"},
		"x.wasm":                      {Kind: oci.File, Name: "x.wasm"},
		"out/x.wasm":                  {Kind: oci.File, Name: "out/x.wasm"},
		"registry.example/x.wasm":     {Kind: oci.File, Name: "registry.example/x.wasm"},
		".":                           {Kind: oci.File, Name: "."},
		"https://site.example/x.wasm": {Kind: oci.URL, Name: "https://site.example/x.wasm"},
		"http://127.0.0.1:1/x.wasm":   {Kind: oci.URL, Name: "http://127.0.0.1:1/x.wasm"},
		"host.tld/name":               {Kind: oci.Registry, Host: "host.tld", Name: "host.tld/name:latest"},
		"registry.example/acme/tiny":  {Kind: oci.Registry, Host: "registry.example", Name: "registry.example/acme/tiny:latest"},
		"localhost/x":                 {Kind: oci.Registry, Host: "localhost", Name: "localhost/x:latest"},
		"localhost:5000/x:1":          {Kind: oci.Registry, Host: "localhost:5000", Name: "localhost:5000/x:1"},
		"myregistry:5000/x":           {Kind: oci.Registry, Host: "myregistry:5000", Name: "myregistry:5000/x:latest"},
		"oci://intranet/x:1":          {Kind: oci.Registry, Host: "intranet", Name: "intranet/x:1"},
		"oci://host.tld/x.wasm:1":     {Kind: oci.Registry, Host: "host.tld", Name: "host.tld/x.wasm:1"},
		"host.tld/x@" + ones:          {Kind: oci.Registry, Host: "host.tld", Name: "host.tld/x@" + ones},
		"host.tld/x:1@" + ones:        {Kind: oci.Registry, Host: "host.tld", Name: "host.tld/x@" + ones},
	} {
		if have, err := oci.Resolve(ref); err != nil || have != want {
			t.Errorf("%s: %+v, %v", ref, have, err)
		}
	}
	for ref, text := range map[string]string{
		"":                     "name a file",
		" ":                    "name a file",
		"tiny":                 "write ./tiny for a file, or the registry too, like registry.example/tiny",
		"acme/tiny":            "write ./acme/tiny for a file, or the registry too",
		"acme/tiny:1":          "may be a file or a plugin in some registry",
		"tiny:1":               "may be a file",
		"host.tld":             "may be a file",
		"git://host.tld/x":     `"git://" is not a way`,
		"file:///x.wasm":       `"file://" is not a way`,
		"host.tld/Upper:1":     "not a registry's reference",
		"host.tld/x:":          "not a registry's reference",
		"host.tld/x:a b":       "not a registry's reference",
		"host.tld/x@sha256:1":  "not a registry's reference",
		"oci://x":              "not a registry's reference",
		"oci://me:pw@host/x:1": "not a registry's reference",
		"me:pw@host.tld/x:1":   "not a registry's reference",
		"host.tld/../x:1":      "not a registry's reference",
	} {
		if place, err := oci.Resolve(ref); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %+v, %v", ref, place, err)
		}
	}
}

func TestPinned(t *testing.T) {
	for _, ref := range []string{"host.tld/acme/x", "host.tld/acme/x:1", "oci://host.tld/acme/x:1", "host.tld/acme/x@sha256:" + strings.Repeat("2", 64)} {
		if have, err := oci.Pinned(ref, ones); err != nil || have != "oci://host.tld/acme/x@"+ones {
			t.Errorf("%s: %s, %v", ref, have, err)
		}
	}
	for ref, digest := range map[string]string{"host.tld/x": "latest", "./x": ones, "host.tld/y": ""} {
		if have, err := oci.Pinned(ref, digest); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%s@%s: %s, %v", ref, digest, have, err)
		}
	}
}

func TestRegistryFetch(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	b := newBundle(t, "1.0.0", 1000)
	file, err := b.Write(filepath.Join(t.TempDir(), "a b"))
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
	t.Cleanup(site.Close)
	registry := startRegistry(t, plainly) + "/acme/tiny:1"
	s := oci.Source{Client: plain()}
	if _, err := s.Client.Push(t.Context(), registry, b); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{file, site.URL + "/provider-tiny.wasm", registry, "oci://" + registry} {
		got, origin, err := s.Fetch(t.Context(), ref)
		if err != nil {
			t.Fatal(ref, err)
		}
		same(t, got, b)
		if origin.Reference != ref || origin.Resolved == "" || (origin.OCI != "") != strings.Contains(ref, registry) {
			t.Errorf("%+v", origin)
		}
	}
	if _, origin, err := s.Fetch(t.Context(), "tiny"); err == nil || origin.Reference != "tiny" {
		t.Error(err)
	}
}

func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"./x", "host.tld/x:1", "oci://h/x@" + ones, "https://h/x.wasm"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		place, err := oci.Resolve(ref)
		if err != nil || place.Kind != oci.Registry {
			return
		}
		again, err := oci.Resolve("oci://" + place.Name)
		if err != nil || again != place {
			t.Fatalf("%q is %+v, and that is %+v, %v", ref, place, again, err)
		}
		if strings.ContainsAny(place.Name, " \n\x1b\\?#") || strings.Contains(place.Host, "/") {
			t.Fatalf("%q is %+v", ref, place)
		}
	})
}
