package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tinyRegistry has the tag 1.0.0 and takes whatever is pushed to another one.
type tinyRegistry struct {
	mu   sync.Mutex
	puts map[string][]byte // path → body of a manifest
}

func (r *tinyRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case strings.HasSuffix(req.URL.Path, "/tags/list"):
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "me/v1", "tags": []string{"1.0.0"}})
	case req.Method == http.MethodHead:
		w.WriteHeader(http.StatusNotFound)
	case req.Method == http.MethodPost:
		w.Header().Set("Location", req.URL.Path+"one")
		w.WriteHeader(http.StatusAccepted)
	case req.Method == http.MethodPut:
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.puts[req.URL.Path] = body
		r.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
	}
}

func (r *tinyRegistry) manifest(tag string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.puts["/v2/me/v1/manifests/"+tag])
}

// What is pushed is of this build: its signature, its report. A tag that is taken is
// found before anything is signed.
func TestPushIsOfThisBuild(t *testing.T) {
	registry := &tinyRegistry{puts: map[string][]byte{}}
	server := httptest.NewServer(registry)
	defer server.Close()
	p := newProgram(t)
	wasm := filepath.Join(p.dir, "provider-v1.wasm")
	beside := map[string]string{wasm + ".sig": "old", filepath.Join(p.dir, "provider-v1.conformance.json"): `{"digest":"sha256:0"}`}
	code, err := os.ReadFile("../../engine/plugin/host/testdata/v1/provider-v1.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wasm, code, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, text := range beside {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(p.dir, "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	push := func(tag string, more ...string) (string, error) {
		args := append([]string{"plugin", "push", wasm, strings.TrimPrefix(server.URL, "http://") + "/me/v1:" + tag, "--plain-http"}, more...)
		c := p.command(args...)
		var said bytes.Buffer
		c.Stderr = &said
		err := c.Run()
		return said.String(), err
	}

	if said, err := push("1.0.0", "--key", key); err == nil || !strings.Contains(said, "is there already") {
		t.Errorf("a tag that is taken: %v, %s", err, said)
	}
	if text, err := os.ReadFile(wasm + ".sig"); err != nil || string(text) != "old" {
		t.Errorf("signed before the tag was found taken: %q, %v", text, err)
	}
	if said, err := push("1.1.0"); err == nil || !strings.Contains(said, "the module has changed since") || !strings.Contains(said, "--key") {
		t.Errorf("a signature of another build: %v, %s", err, said)
	}
	if registry.manifest("1.1.0") != "" {
		t.Error("pushed nevertheless")
	}
	said, err := push("1.1.0", "--key", key)
	if err != nil || !strings.Contains(said, "is about another build, and was left out") {
		t.Errorf("a report of another build: %v, %s", err, said)
	}
	if m := registry.manifest("1.1.0"); !strings.Contains(m, "signature") || strings.Contains(m, "report") || strings.Contains(m, "conformance") {
		t.Errorf("the artifact: %s", m)
	}
}
