// Package testoci is a small OCI registry for tests of what reads models and images from one.
package testoci

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Registry is a registry. Set its fields before it is used.
type Registry struct {
	Token    string // wanted as Bearer, and given to everybody at /token
	Realm    string // where tokens are; default: here
	Login    string // user:password, wanted as Basic
	Redirect string // origin that blobs are redirected to; see Storage

	mu        sync.Mutex
	manifests map[string][]byte // repo@digest and repo:tag
	blobs     map[string][]byte
	requests  []string
}

// Digest is that of some bytes, as registries write it.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Layer is a layer of a model.
type Layer struct {
	MediaType   string
	Annotations map[string]string
	Content     []byte
}

// File is a layer as ORAS pushes a file.
func File(path string, content []byte) Layer {
	return Layer{"application/octet-stream", map[string]string{"org.opencontainers.image.title": path}, content}
}

// Manifest is a manifest of layers.
func Manifest(layers ...Layer) []byte {
	type descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	m := map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "application/vnd.cncf.model.manifest.v1+json",
		"config": descriptor{"application/vnd.oci.empty.v1+json", Digest([]byte("{}")), 2, nil},
	}
	all := []descriptor{}
	for _, l := range layers {
		all = append(all, descriptor{l.MediaType, Digest(l.Content), len(l.Content), l.Annotations})
	}
	m["layers"] = all
	text, err := json.Marshal(m)
	if err != nil { // maps and texts
		panic(err)
	}
	return text
}

// Add stores layers and their manifest under a tag, and returns the manifest's digest.
func (r *Registry) Add(repo, tag string, layers ...Layer) string {
	for _, l := range layers {
		r.AddBlob(l.Content)
	}
	return r.AddManifest(repo, tag, Manifest(layers...))
}

// AddBlob stores a blob, and returns its digest.
func (r *Registry) AddBlob(content []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blobs == nil {
		r.blobs = map[string][]byte{}
	}
	r.blobs[Digest(content)] = content
	return Digest(content)
}

// Lose forgets all manifests and blobs.
func (r *Registry) Lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.manifests)
	clear(r.blobs)
}

// AddManifest stores a manifest as it is.
func (r *Registry) AddManifest(repo, tag string, manifest []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.manifests == nil {
		r.manifests = map[string][]byte{}
	}
	r.manifests[repo+":"+tag], r.manifests[repo+"@"+Digest(manifest)] = manifest, manifest
	return Digest(manifest)
}

// Requests are the methods and paths that were asked for.
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.requests...)
}

// Storage serves blobs alone, to those who have a signed address and no credential.
func (r *Registry) Storage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" || req.URL.Query().Get("signature") != "1" {
			http.Error(w, "not signed, or a credential", http.StatusBadRequest)
			return
		}
		r.blob(w, req, strings.TrimPrefix(req.URL.Path, "/"))
	})
}

func (r *Registry) blob(w http.ResponseWriter, req *http.Request, digest string) {
	r.mu.Lock()
	content, ok := r.blobs[digest]
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, req)
		return
	}
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(content))
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, req.Method+" "+req.URL.Path)
	r.mu.Unlock()
	if req.URL.Path == "/token" && r.Token != "" {
		_ = json.NewEncoder(w).Encode(map[string]any{"token": r.Token, "expires_in": 300, "issued_at": "later"})
		return
	}
	if !r.allowed(w, req) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	rest := strings.TrimPrefix(req.URL.Path, "/v2/")
	if repo, version, ok := strings.Cut(rest, "/manifests/"); ok {
		sep := ":"
		if strings.Contains(version, ":") {
			sep = "@"
		}
		r.mu.Lock()
		manifest, known := r.manifests[repo+sep+version]
		r.mu.Unlock()
		if known {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", Digest(manifest))
			_, _ = w.Write(manifest)
			return
		}
	}
	if _, digest, ok := strings.Cut(rest, "/blobs/"); ok {
		if r.Redirect != "" {
			http.Redirect(w, req, r.Redirect+"/"+digest+"?signature=1", http.StatusTemporaryRedirect)
			return
		}
		r.blob(w, req, digest)
		return
	}
	http.NotFound(w, req)
}

func (r *Registry) allowed(w http.ResponseWriter, req *http.Request) bool {
	have := req.Header.Get("Authorization")
	switch {
	case r.Token != "":
		realm := r.Realm
		if realm == "" {
			realm = "http://" + req.Host + "/token"
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="test",scope="repository:x:pull"`, realm))
		return have == "Bearer "+r.Token
	case r.Login != "":
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		return have == "Basic "+base64.StdEncoding.EncodeToString([]byte(r.Login))
	}
	return true
}
