package engine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/image/registry"
)

// images is a registry of one image, which has no Python.
type images struct {
	ref     string
	private string            // what only a login opens: a part of paths
	blobs   map[string][]byte // by digest

	mu      sync.Mutex
	pulled  bool // the image's layer was given away
	layerAt string
}

const userLogin = "me:secret"

func newImages(t *testing.T, private string) *images {
	t.Helper()
	r := &images{private: private, blobs: map[string][]byte{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	var plain, packed bytes.Buffer
	w := tar.NewWriter(&plain)
	z := gzip.NewWriter(&packed)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "etc/private", Mode: 0o644}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(plain.Bytes()); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`{"os":"linux","architecture":%q,"rootfs":{"type":"layers","diff_ids":[%q]}}`, runtime.GOARCH, r.digest(plain.Bytes()))
	layer := r.put("application/vnd.oci.image.layer.v1.tar+gzip", packed.Bytes())
	r.layerAt = r.digest(packed.Bytes())
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType,
		"config": r.put("application/vnd.oci.image.config.v1+json", []byte(config)), "layers": []any{layer}})
	if err != nil {
		t.Fatal(err)
	}
	r.put(manifestType, manifest)
	r.blobs["1"] = manifest
	r.ref = host + "/team/image:1"
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	login := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(userLogin)))
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

func (r *images) digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func (r *images) put(kind string, data []byte) map[string]any {
	r.blobs[r.digest(data)] = data
	return map[string]any{"mediaType": kind, "digest": r.digest(data), "size": len(data)}
}

func (r *images) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	user, password, _ := q.BasicAuth()
	if strings.Contains(q.URL.Path, r.private) && user+":"+password != userLogin {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	name := filepath.Base(q.URL.Path)
	data, ok := r.blobs[name]
	if !ok {
		http.NotFound(w, q)
		return
	}
	r.pulled = r.pulled || name == r.layerAt
	if strings.Contains(q.URL.Path, "/manifests/") {
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", r.digest(data))
	}
	_, _ = w.Write(data)
}

// starts tries to start an experiment in the image. It has no Python, so the start fails
// once the image is there.
func (r *images) starts(v *victim) error {
	exp := load(v.t, map[string]string{"seer.yaml": "name: t\nsandbox: {isolation: bubblewrap, image: {base: '" + r.ref + "'}}\n"})
	s, err := v.Up(v.t.Context(), exp, engine.UpOptions{Attached: time.Minute})
	if err == nil {
		return errors.Join(errors.New("an image without Python starts"), s.Terminate(context.Background()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pulled {
		return nil
	}
	return err
}

func imageVictim(t *testing.T, defended bool) *victim {
	return newVictim(t, defended, func(o *engine.Options) { o.Registry, o.CacheDir = registry.Open, t.TempDir() })
}

// pullPrivateImage starts from an image that only the user's login opens.
func pullPrivateImage(t *testing.T, defended bool) error {
	return newImages(t, "/v2/").starts(imageVictim(t, defended))
}

// TestImagesWithoutLogin pulls an image that everybody may have, without a confirmation.
func TestImagesWithoutLogin(t *testing.T) {
	if err := newImages(t, "/nothing/").starts(imageVictim(t, true)); err != nil {
		t.Error(err)
	}
}

// TestLoginIsNotUsedUnconfirmed has a registry that asks for a login after the start was
// planned: it shows the manifest to everybody.
func TestLoginIsNotUsedUnconfirmed(t *testing.T) {
	err := newImages(t, "/blobs/").starts(imageVictim(t, true))
	if err == nil || !strings.Contains(err.Error(), "it wants a login") {
		t.Errorf("%v", err)
	}
}
