package main_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testoci"
	"github.com/seer-engine/seer/sdk"
)

// compiled is where the plugin's compiled code is, for all tests.
var compiled string

func TestMain(m *testing.M) {
	testkit.Main(m, func(dir string) error {
		compiled = dir
		return hosttest.Prepare(dir, "plugins/fetch-oci")
	})
}

// fetcher is the built-in plugin in the real host, with the origins that the user allows.
func fetcher(t *testing.T, origins string) sdk.Fetcher {
	t.Helper()
	dir := t.TempDir()
	hosttest.BuiltIn(t, dir, "fetch-oci")
	h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: compiled, Access: host.GrantAll, Env: func(name string) (string, string, bool) {
		return origins, "the test", name == "SEER_MODEL_ORIGINS" && origins != ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	f, err := h.Fetcher(t.Context(), "oci")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestInTheHost(t *testing.T) {
	r := &testoci.Registry{Token: "anonymous-token"}
	r.Add("org/tiny", "v1", testoci.File("config.json", []byte("{}")), testoci.File("model.safetensors", make([]byte, 3<<20)))
	s := httptest.NewServer(r)
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	f := fetcher(t, s.URL)
	m, err := fetch.Fetch(t.Context(), f, sdk.ModelRef{Source: "oci", Name: host + "/org/tiny:v1"}, fetch.Options{CacheDir: t.TempDir()})
	if err != nil || m.Bytes != 2+3<<20 || !strings.HasPrefix(m.Revision, "sha256:") {
		t.Fatalf("%+v, %v", m, err)
	}
	// Whoever writes an experiment does not reach into the user's networks.
	if _, err := fetcher(t, "").Resolve(t.Context(), sdk.ModelRef{Source: "oci", Name: host + "/org/tiny:v1"}); err == nil {
		t.Error("a registry of this computer was asked")
	}
}
