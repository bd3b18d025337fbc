// Package testimage has images for tests: a registry on the loopback, and one with this computer's
// Python.
package testimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/testoci"
)

// Registry is a loopback registry of one image per name, with one layer each.
type Registry struct {
	*httptest.Server
	Gate chan struct{} // if set before the first request, blobs wait for it

	content testoci.Registry
}

// New starts a registry, until the test ends.
func New(t testing.TB) *Registry {
	r := &Registry{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/v2/" {
		return
	}
	if r.Gate != nil && strings.Contains(q.URL.Path, "/blobs/") {
		select {
		case <-r.Gate:
		case <-q.Context().Done():
		}
	}
	r.content.ServeHTTP(w, q)
}

func (r *Registry) put(blob []byte) map[string]any {
	return map[string]any{"digest": r.content.AddBlob(blob), "size": len(blob)}
}

// Add makes an image of a layer and returns its reference.
func (r *Registry) Add(t testing.TB, name string, layer []byte, env ...string) string {
	t.Helper()
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	_, _ = z.Write(layer)
	_ = z.Close()
	describe := func(media string, v map[string]any) map[string]any { v["mediaType"] = media; return v }
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	config := describe("application/vnd.oci.image.config.v1+json", r.put(encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Env": env},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{testoci.Digest(layer)}},
	})))
	r.content.AddManifest(name, "latest", encode(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
		"layers": []any{describe("application/vnd.oci.image.layer.v1.tar+gzip", r.put(packed.Bytes()))},
	}))
	return strings.TrimPrefix(r.URL, "http://") + "/" + name + ":latest"
}

// Files is a layer of small files, PATH → content; what ends with / is a folder.
func Files(t testing.TB, w *tar.Writer, content map[string]string) {
	t.Helper()
	for name, text := range content {
		h := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
}

// PythonLayer is a layer with this computer's Python in /opt/image python, in a place that is not usual.
var PythonLayer = sync.OnceValues(func() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	python, err := isolation.Python(context.Background(), func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(python.Executable)
	if err != nil {
		return nil, err
	}
	put := func(name, file string) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	version := filepath.Base(real) // python3.11
	if err := put("/opt/image python/bin/"+version, real); err != nil {
		return nil, err
	}
	_ = w.WriteHeader(&tar.Header{Name: "opt/image python/bin/python3", Linkname: version, Typeflag: tar.TypeSymlink})
	linked, err := exec.Command("ldd", real).Output()
	if err != nil {
		return nil, err
	}
	for _, lib := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(string(linked), -1) {
		if err := put(lib[1], lib[1]); err != nil {
			return nil, err
		}
	}
	stdlib := "/usr/lib/" + version
	err = filepath.WalkDir(stdlib, func(path string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(stdlib, path)
		keep := filepath.Dir(rel) == "." || strings.HasPrefix(rel, "encodings/") || strings.HasPrefix(rel, "json/") || strings.HasPrefix(rel, "collections/") ||
			strings.HasPrefix(rel, "re/") || strings.HasPrefix(rel, "importlib/") || rel == "lib-dynload"
		if err != nil || !entry.Type().IsRegular() || !keep || !strings.HasSuffix(rel, ".py") {
			return err
		}
		return put("/opt/image python/lib/"+version+"/"+rel, path)
	})
	if err != nil {
		return nil, err
	}
	_ = w.WriteHeader(&tar.Header{Name: "opt/image python/lib/" + version + "/lib-dynload/", Mode: 0o755, Typeflag: tar.TypeDir})
	for name, text := range map[string]string{"etc/image": "first", "etc/gone": "x", "opt/note": "of the image"} {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		_, _ = w.Write([]byte(text))
	}
	err = w.Close()
	return out.Bytes(), err
})

// PythonPath is the PATH of an image with [PythonLayer].
const PythonPath = "/opt/image python/bin:/usr/bin"

// Python is an image with this computer's Python, in a place that is not usual.
func (r *Registry) Python(t testing.TB) string {
	t.Helper()
	layer, err := PythonLayer()
	if err != nil {
		t.Fatal(err)
	}
	return r.Add(t, "python", layer, "PATH="+PythonPath, "OF_THE_IMAGE=a b", "HOME=/nowhere", "SEER_X=1")
}

// Tree unpacks [PythonLayer] into a folder. PATH is in its /etc/environment, as enroot has it.
func Tree(t testing.TB, dir string) {
	t.Helper()
	layer, err := PythonLayer()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tar", "-x", "-C", dir)
	cmd.Stdin = bytes.NewReader(layer)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc/environment"), []byte("PATH="+PythonPath+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Squash makes a squashfs file of a folder.
func Squash(t testing.TB, dir, file string) string {
	t.Helper()
	if out, err := exec.Command("mksquashfs", dir, file, "-noappend", "-no-progress", "-all-root").CombinedOutput(); err != nil {
		t.Fatalf("mksquashfs: %v: %s; install squashfs-tools by scripts/setup test", err, out)
	}
	return file
}

// Lose forgets all that layers and manifests are, while requests wait for Gate.
func (r *Registry) Lose() { r.content.Lose() }
