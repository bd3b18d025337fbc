package oci_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/oci"
)

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
