package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "fetch-url") }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestInTheHost(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/model.gguf" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("weights"))
	}))
	defer s.Close()
	name := s.URL + "/model.gguf#sha256=" + digest("weights")
	f := testplugin.FetcherWith(t, "fetch-url", "url", "https://models.lab,"+s.URL)
	m, err := fetch.Fetch(t.Context(), f, sdk.ModelRef{Source: "url", Name: name}, fetch.Options{CacheDir: t.TempDir()})
	if err != nil || m.Bytes != 7 || m.Revision != digest("weights") {
		t.Fatalf("%+v, %v", m, err)
	}
	wrong := strings.Replace(name, digest("weights"), digest("other"), 1)
	if _, err := fetch.Fetch(t.Context(), f, sdk.ModelRef{Source: "url", Name: wrong}, fetch.Options{CacheDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "not the file that was promised") {
		t.Errorf("another digest: %v", err)
	}
	// Whoever writes an experiment does not reach into the user's networks.
	for _, origins := range []string{"", "https://models.lab", strings.Replace(s.URL, "http:", "https:", 1), s.URL + "0"} {
		if _, err := testplugin.FetcherWith(t, "fetch-url", "url", origins).Resolve(t.Context(), sdk.ModelRef{Source: "url", Name: name}); err == nil {
			t.Errorf("with %q, a server of this computer was asked", origins)
		}
	}
}
