package main_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/internal/testoci"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "fetch-oci") }

func TestInTheHost(t *testing.T) {
	r := &testoci.Registry{Token: "anonymous-token"}
	r.Add("org/tiny", "v1", testoci.File("config.json", []byte("{}")), testoci.File("model.safetensors", make([]byte, 3<<20)))
	s := httptest.NewServer(r)
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	f := testplugin.FetcherWith(t, "fetch-oci", "oci", s.URL)
	m, err := fetch.Fetch(t.Context(), f, sdk.ModelRef{Source: "oci", Name: host + "/org/tiny:v1"}, fetch.Options{CacheDir: t.TempDir()})
	if err != nil || m.Bytes != 2+3<<20 || !strings.HasPrefix(m.Revision, "sha256:") {
		t.Fatalf("%+v, %v", m, err)
	}
	// Whoever writes an experiment does not reach into the user's networks.
	if _, err := testplugin.FetcherWith(t, "fetch-oci", "oci", "").Resolve(t.Context(), sdk.ModelRef{Source: "oci", Name: host + "/org/tiny:v1"}); err == nil {
		t.Error("a registry of this computer was asked")
	}
}
